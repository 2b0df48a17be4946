package org.nvmf4j.pcie.vfio;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import org.nvmf4j.pcie.nvme.NvmeRegisters;

/**
 * A controller's registers behind BAR 0 of its function. A controller counts as gone, and reads as all ones, from when a mapping of its
 * BARs faults, the device is closed, or the kernel waits for us to let go of it. While somebody else resets its function, a read waits.
 * Thread-safe, but for {@link #close}.
 */
public final class VfioRegisters implements NvmeRegisters, AutoCloseable {
    private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();
    private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
    private static final Object NOBODYS_LOCK = new Object();

    private final VfioDevice device;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment bar;
    private volatile boolean gone;

    VfioRegisters(VfioDevice device) throws IOException {
        this.device = device;
        boolean mapped = false;
        try {
            bar = device.map(arena, 0, 0, device.sizeBytes(0));
            mapped = true;
        } finally {
            if (!mapped) {
                arena.close();
            }
        }
    }

    @Override
    public long sizeBytes() {
        return bar.byteSize();
    }

    @Override
    public int read32(int offset) {
        return (int) read(offset, false);
    }

    @Override
    public long read64(int offset) {
        return read(offset, true);
    }

    private long read(int offset, boolean wide) {
        if (isGone()) {
            return -1;
        }
        try {
            long value = load(offset, wide);
            if (value != -1) {
                return value;
            }
            return switch (device.state()) {
                case ANSWERS -> load(offset, wide);
                case TURNED_OFF -> 0;
                case GONE -> -1;
            };
        } catch (InternalError e) {
            gone = true;
            return -1;
        }
    }

    /** All ones are -1, of either width. */
    private long load(int offset, boolean wide) {
        long value = wide ? (long) LONG.getVolatile(bar, (long) offset) : (int) INT.getVolatile(bar, (long) offset);
        awaitFault();
        return value;
    }

    private boolean isGone() {
        if (!gone && (device.isClosed() || device.isRemovalRequested())) {
            gone = true;
        }
        return gone;
    }

    /** Doorbells are written here: no look at the device, which the next read of a register does. */
    @Override
    public void write32(int offset, int value) {
        if (gone) {
            return;
        }
        try {
            INT.setVolatile(bar, (long) offset, value);
            awaitFault();
        } catch (InternalError e) {
            gone = true;
        }
    }

    @Override
    public void write64(int offset, long value) {
        if (gone) {
            return;
        }
        try {
            LONG.setVolatile(bar, (long) offset, value);
            awaitFault();
        } catch (InternalError e) {
            gone = true;
        }
    }

    @Override
    public void copy(MemorySegment source, MemorySegment target, long offset, long lengthBytes) {
        if (gone) {
            return;
        }
        try {
            MemorySegment.copy(source, offset, target, offset, lengthBytes);
            awaitFault();
            VarHandle.fullFence(); // also for what a CPU combines before it writes it
        } catch (InternalError e) {
            gone = true;
        }
    }

    /**
     * The JVM only notes a fault, and throws at some later point, perhaps outside of every handler nearby. A native method does not
     * return without throwing it; this one takes 30 ns.
     */
    private static void awaitFault() {
        boolean _ = Thread.holdsLock(NOBODYS_LOCK);
    }

    @Override
    public void answer() {
        try {
            device.decodeMemory();
        } catch (IOException e) {
            gone = true;
        }
    }

    @Override
    public void busMaster(boolean allowed) {
        try {
            device.busMaster(allowed);
        } catch (IOException e) {
            gone = true;
        }
    }

    /** Unmaps them. */
    @Override
    public void close() {
        gone = true;
        if (arena.scope().isAlive()) {
            arena.close();
        }
    }
}

package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.ControllerMemoryBuffer;
import org.nvmf4j.nvme.ControllerProperties;

/**
 * A controller memory buffer, mapped: memory of a drive that the CPU and other devices reach at an address on the bus, and the drive at the
 * same address without going there (NVMe Base 2.0, section 8.5). A controller from 1.4 on is told of the address by
 * CMBMSC; others know it. Addresses in it must not be those of other memory that the controller is given.
 */
public final class NvmeCmb implements AutoCloseable {
    private static final int CMBSTS_CBAI = 1;

    private final NvmeRegisters registers;
    private final boolean controlled;
    private final ControllerMemoryBuffer description;
    private final long busAddress;
    private final Arena arena = Arena.ofShared();
    private final AtomicLong losses = new AtomicLong();
    private final MemorySegment segment;

    private NvmeCmb(
            NvmeRegisters registers,
            boolean controlled,
            ControllerMemoryBuffer description,
            long busAddress,
            NvmeBars bars,
            long lengthBytes)
            throws IOException {
        this.registers = registers;
        this.controlled = controlled;
        this.description = description;
        this.busAddress = busAddress;
        boolean usable = false;
        try {
            segment = bars.map(arena, description.bar(), description.offsetBytes(), lengthBytes);
            enable();
            usable = true;
        } finally {
            if (!usable) {
                arena.close();
            }
        }
    }

    /**
     * A controller's buffer, enabled, or null if it has none.
     *
     * @throws IOException with one line, if it makes no sense, or cannot be enabled or mapped; the controller can be used without
     */
    public static @Nullable NvmeCmb find(NvmeRegisters registers, NvmeBars bars) throws IOException {
        long cap = registers.read64(ControllerProperties.CAP);
        if (cap == -1) {
            return null; // it has gone
        }
        boolean controlled = (cap & ControllerProperties.CAP_CMBS) != 0;
        if (controlled) {
            // Whatever a driver before has left there: now the registers are to be seen, and the buffer at no address.
            registers.write64(ControllerProperties.CMBMSC, ControllerProperties.CMBMSC_CRE);
        }
        ControllerMemoryBuffer description = ControllerMemoryBuffer.parse(
                registers.read32(ControllerProperties.CMBLOC), registers.read32(ControllerProperties.CMBSZ));
        if (description == null) {
            return null;
        }
        int bar = description.bar();
        long offset = description.offsetBytes();
        // "The size available to the host is limited by the length of the BAR" (CMBSZ.SZ); only whole pages can be
        // mapped.
        long length = Math.min(description.sizeBytes(), bars.sizeBytes(bar) - offset) & -NvmeQueue.PAGE_BYTES;
        if (length <= 0) {
            throw new NvmeDeviceException("a controller memory buffer of " + description.sizeBytes()
                    + " bytes at offset " + offset + " has no room in BAR " + bar + " of " + bars.sizeBytes(bar)
                    + " bytes");
        }
        long busAddress = bars.busAddress(bar) + offset;
        if (busAddress <= 0 || busAddress % NvmeQueue.PAGE_BYTES != 0) {
            throw new NvmeDeviceException(
                    String.format("a controller memory buffer at bus address 0x%x cannot be used", busAddress));
        }
        return new NvmeCmb(registers, controlled, description, busAddress, bars, length);
    }

    /** From now on nothing in it means anything, as a reset leaves it undefined (NVMe Base 2.1, section 8.2.1). */
    final void lose() {
        losses.incrementAndGet();
    }

    /** See {@link org.nvmf4j.target.spi.PeerMemory#losses}. */
    public long losses() {
        return losses.get();
    }

    /** Has the controller know where it is, which a reset may have it forget; what is put there from now on stays. */
    final void enable() throws NvmeDeviceException {
        if (controlled) {
            registers.write64(
                    ControllerProperties.CMBMSC,
                    busAddress | ControllerProperties.CMBMSC_CMSE | ControllerProperties.CMBMSC_CRE);
            int status = registers.read32(ControllerProperties.CMBSTS);
            if (status != -1 && (status & CMBSTS_CBAI) != 0) {
                throw new NvmeDeviceException(String.format(
                        "the controller does not take 0x%x for the address of its memory buffer (CMBSTS.CBAI)",
                        busAddress));
            }
        }
        lose();
    }

    /** As the controller says; its size may be more than {@link #sizeBytes}. */
    public ControllerMemoryBuffer description() {
        return description;
    }

    /** What of it lies in its BAR, in whole pages. */
    public long sizeBytes() {
        return segment.byteSize();
    }

    /** So much of it. Touching it when the drive has gone may be an {@link InternalError}. */
    public MemorySegment segment() {
        return segment;
    }

    public long busAddress() {
        return busAddress;
    }

    /** Unmaps it. */
    @Override
    public void close() {
        if (arena.scope().isAlive()) {
            arena.close();
        }
    }
}

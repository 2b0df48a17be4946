package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.target.spi.PeerBlock;

/** A simulated controller that works in a thread of its own, for a driver that has threads too. */
final class RunningNvme implements NvmeHardware, Pace {
    private static final long WORK_NANOS = 20_000;

    private final SimulatedNvme device;
    private final Thread thread =
            Thread.ofPlatform().daemon().name("simulated-nvme").unstarted(this::run);
    private volatile boolean stopped;
    private volatile @Nullable Throwable failure;
    volatile boolean wanted;
    volatile boolean givenBack;

    RunningNvme(SimulatedNvme device) {
        this.device = device;
        thread.start();
    }

    private void run() {
        try {
            while (!stopped) {
                device.work();
                LockSupport.parkNanos(WORK_NANOS);
            }
        } catch (RuntimeException | Error e) {
            failure = e;
        }
    }

    /** Throws what the controller has found wrong. */
    void check() {
        if (failure != null) {
            throw new AssertionError("the controller failed", failure);
        }
    }

    @Override
    public NvmeRegisters registers() {
        return device.registers();
    }

    @Override
    public DmaAllocator dma() {
        return device;
    }

    @Override
    public Pace pace() {
        return this;
    }

    @Override
    public @Nullable NvmeCmb memoryBuffer() {
        return device.memoryBuffer();
    }

    @Override
    public @Nullable PeerBlock allocateInBuffer(long bytes) throws IOException {
        return device.allocateInBuffer(bytes);
    }

    @Override
    public boolean isWanted() {
        return wanted;
    }

    @Override
    public void giveBack() {
        device.removed = true;
        if (device.cmb != null) {
            device.cmb.peerMemory().close();
        }
        givenBack = true;
    }

    @Override
    public void close() {
        stopped = true;
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        device.close();
    }

    @Override
    public long nanoTime() {
        return System.nanoTime();
    }

    @Override
    public void pause() {
        LockSupport.parkNanos(WORK_NANOS);
    }
}

package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.target.spi.PeerBlock;

/** A controller as its driver needs it, opened for that alone: through VFIO, or simulated. Closed after the driver has let go of it. */
public interface NvmeHardware extends AutoCloseable {
    NvmeRegisters registers();

    DmaAllocator dma();

    Pace pace();

    /** Its memory buffer, or null if it has none that can be used. */
    default @Nullable NvmeCmb memoryBuffer() {
        return null;
    }

    /**
     * Takes a part of the memory buffer that nobody else is given, until it is closed, which may be later than the hardware.
     *
     * @param bytes positive
     * @return null if there is no buffer, or no such piece of it is free
     */
    default @Nullable PeerBlock allocateInBuffer(long bytes) throws IOException {
        return null;
    }

    /**
     * Whether a block is in the controller's own memory buffer, so that the controller finds it at its address on the bus. One left from a
     * drive that was at the same address before is not, and nobody can tell but by where it is mapped.
     */
    default boolean isOwnMemory(PeerBlock block) {
        NvmeCmb buffer = memoryBuffer();
        if (buffer == null) {
            return false;
        }
        long at = block.segment().address() - buffer.segment().address();
        return at >= 0 && at < buffer.sizeBytes();
    }

    /** Whether somebody waits for the function to be given back, as it is unplugged or unbound. */
    default boolean isWanted() {
        return false;
    }

    /** Gives the function back: its registers read as all ones from now on, and memory is no device's any more but stays until it is closed. */
    default void giveBack() {}

    @Override
    void close();
}

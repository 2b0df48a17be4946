package org.nvmf4j.pcie.nvme;

import org.nvmf4j.target.spi.PeerBlock;

/** A controller as its driver needs it, opened for that alone: through VFIO, or simulated. Closed after the driver has let go of it. */
public interface NvmeHardware extends AutoCloseable {
    NvmeRegisters registers();

    DmaAllocator dma();

    Pace pace();

    /**
     * Whether a block belongs to the controller's own memory buffer, so that it is told the block's {@link PeerBlock#busAddress} itself,
     * and nothing is mapped.
     */
    default boolean isOwnMemory(PeerBlock block) {
        return false;
    }

    @Override
    void close();
}

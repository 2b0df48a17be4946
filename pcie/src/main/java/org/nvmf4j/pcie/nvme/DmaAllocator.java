package org.nvmf4j.pcie.nvme;

import java.io.IOException;

/** Gives memory that a device reaches. */
public interface DmaAllocator {
    /**
     * Allocates memory of zeros.
     *
     * @throws IOException with one line, if there is no memory, or no room in the device's address space
     */
    DmaMemory allocate(long bytes) throws IOException;
}

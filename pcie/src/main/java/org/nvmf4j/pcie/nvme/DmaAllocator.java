package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import java.lang.foreign.MemorySegment;

/** Gives memory that a device reaches. */
public interface DmaAllocator {
    /**
     * Allocates memory of zeros.
     *
     * @throws IOException with one line, if there is no memory, or no room in the device's address space
     */
    DmaMemory allocate(long bytes) throws IOException;

    /**
     * Lets the device reach memory that exists, until what is returned is closed; the memory must stay until then.
     *
     * @param memory native; its address and size are multiples of 4096
     * @throws IOException with one line, if the device cannot be let, or there is no room in its address space
     */
    DmaMemory map(MemorySegment memory) throws IOException;
}

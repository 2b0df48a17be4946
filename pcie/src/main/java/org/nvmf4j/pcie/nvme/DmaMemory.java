package org.nvmf4j.pcie.nvme;

import java.lang.foreign.MemorySegment;

/** Memory that the CPU and the device reach, in one piece for both. */
public interface DmaMemory extends AutoCloseable {
    MemorySegment segment();

    /** Where the device finds it; a multiple of 4096. */
    long busAddress();

    /** Gives it back; the device must not use it any more. */
    @Override
    void close();
}

package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** A controller's base address registers 0 to 5, and the memory behind them. */
public interface NvmeBars {
    /** The size of what is behind it; 0 if nothing is. */
    long sizeBytes(int bar) throws IOException;

    /** Where it begins for devices. */
    long busAddress(int bar) throws IOException;

    /**
     * Maps a part for the CPU, for as long as the arena lives.
     *
     * @param offset a multiple of 4096, as is the length
     */
    MemorySegment map(Arena arena, int bar, long offset, long lengthBytes) throws IOException;
}

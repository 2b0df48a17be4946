package org.nvmf4j.host;

import java.lang.foreign.MemorySegment;

/**
 * How an admin command ended.
 *
 * @param status the 15-bit status field, see {@link org.nvmf4j.nvme.NvmeStatus}
 * @param result dwords 0 and 1 of the completion
 * @param data what the controller wrote, as long as was asked for, in heap memory; empty without data
 */
public record AdminCompletion(int status, long result, MemorySegment data) {
    /** Dword 0, the command-specific result. */
    public int dword0() {
        return (int) result;
    }
}

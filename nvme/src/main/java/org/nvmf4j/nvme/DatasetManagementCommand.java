package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;

/**
 * Dataset Management and the ranges that are its data (NVM Command Set 1.0, section 3.2.3), read and written in place. Of the
 * command's fields {@code offset} is where the submission queue entry begins, of a range's where that range begins.
 */
public final class DatasetManagementCommand {
    public static final int RANGE_SIZE_BYTES = 16;
    public static final int MAX_RANGES = 256;

    /** Attribute: the ranges may be deallocated. */
    public static final int AD_DEALLOCATE = 1 << 2;
    /** Attribute: the ranges will be written as a whole soon. */
    public static final int IDW_INTEGRAL_WRITE = 1 << 1;
    /** Attribute: the ranges will be read as a whole soon. */
    public static final int IDR_INTEGRAL_READ = 1;

    private static final int NR = 40;
    private static final int ATTRIBUTES = 44;
    private static final int RANGE_NLB = 4;
    private static final int RANGE_SLBA = 8;

    private DatasetManagementCommand() {}

    /**
     * Writes the whole entry but for the data pointer.
     *
     * @param ranges 1 to {@link #MAX_RANGES}
     */
    public static void write(MemorySegment segment, long offset, int commandId, int nsid, int ranges, int attributes) {
        assert ranges >= 1 && ranges <= MAX_RANGES : ranges;
        SubmissionQueueEntry.write(segment, offset, IoOpcode.DATASET_MANAGEMENT, commandId, nsid);
        Bytes.u32(segment, offset + NR, ranges - 1);
        Bytes.u32(segment, offset + ATTRIBUTES, attributes);
    }

    /** Ranges, 1 to {@link #MAX_RANGES}; on the wire less one. */
    public static int ranges(MemorySegment segment, long offset) {
        return Bytes.u8(segment, offset + NR) + 1;
    }

    public static int attributes(MemorySegment segment, long offset) {
        return Bytes.u32(segment, offset + ATTRIBUTES);
    }

    /** Writes a range of {@code blocks} logical blocks, unsigned 32 bits and not zero-based. */
    public static void writeRange(MemorySegment segment, long offset, long slba, int blocks) {
        Bytes.u64(segment, offset, (long) blocks << 32);
        Bytes.u64(segment, offset + RANGE_SLBA, slba);
    }

    /** Starting LBA of a range, unsigned. */
    public static long rangeSlba(MemorySegment segment, long offset) {
        return Bytes.u64(segment, offset + RANGE_SLBA);
    }

    /** Logical blocks of a range, 0 to 2^32 - 1. */
    public static long rangeBlocks(MemorySegment segment, long offset) {
        return Bytes.u32(segment, offset + RANGE_NLB) & 0xffff_ffffL;
    }
}

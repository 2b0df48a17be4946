package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;

/**
 * Identify Controller of the NVM command set, CNS 06h (NVM Command Set 1.0, section 4.1.5.4): limits of commands other than Read and
 * Write. Zero means no limit. A limit is a recommendation if {@link IdentifyController#oncs} has the command; else it says that there is the
 * command, and must be kept. Setters return this structure.
 *
 * <p>Not safe for use by several threads.
 */
public final class IdentifyControllerNvm extends DataStructure {
    public static final int SIZE_BYTES = 4096;

    /** All zeroes. */
    public IdentifyControllerNvm() {
        super(SIZE_BYTES);
    }

    private IdentifyControllerNvm(MemorySegment segment, long offset) {
        super(SIZE_BYTES, segment, offset);
    }

    /**
     * A copy of {@value #SIZE_BYTES} bytes; every content is accepted.
     *
     * @throws IndexOutOfBoundsException if the segment ends before
     */
    public static IdentifyControllerNvm parse(MemorySegment segment, long offset) {
        return new IdentifyControllerNvm(segment, offset);
    }

    /** Verify size limit, as a power of two of 4 KiB pages. */
    public int vsl() {
        return u8(0);
    }

    public IdentifyControllerNvm vsl(int value) {
        u8(0, value);
        return this;
    }

    /** Write Zeroes size limit, as a power of two of 4 KiB pages. */
    public int wzsl() {
        return u8(1);
    }

    public IdentifyControllerNvm wzsl(int value) {
        u8(1, value);
        return this;
    }

    /** Write Uncorrectable size limit, as a power of two of 4 KiB pages. */
    public int wusl() {
        return u8(2);
    }

    public IdentifyControllerNvm wusl(int value) {
        u8(2, value);
        return this;
    }

    /** Dataset Management ranges limit. */
    public int dmrl() {
        return u8(3);
    }

    public IdentifyControllerNvm dmrl(int value) {
        u8(3, value);
        return this;
    }

    /** Dataset Management range size limit in logical blocks, unsigned. */
    public int dmrsl() {
        return u32(4);
    }

    public IdentifyControllerNvm dmrsl(int value) {
        u32(4, value);
        return this;
    }

    /** Dataset Management size limit in logical blocks of all ranges, unsigned. */
    public long dmsl() {
        return u64(8);
    }

    public IdentifyControllerNvm dmsl(long value) {
        u64(8, value);
        return this;
    }

    /** {@link #wzsl} in bytes with 4 KiB pages; {@link Long#MAX_VALUE} for no limit. */
    public long maxWriteZeroesBytes() {
        int exponent = wzsl();
        return exponent == 0 || exponent > 50 ? Long.MAX_VALUE : 4096L << exponent;
    }

    /** Logical blocks of a Dataset Management with one range, by {@link #dmrsl} and {@link #dmsl}; {@link Long#MAX_VALUE} for no limit. */
    public long maxRangeBlocks() {
        long range = dmrsl() == 0 ? Long.MAX_VALUE : dmrsl() & 0xffff_ffffL;
        long all = dmsl() <= 0 ? Long.MAX_VALUE : dmsl();
        return Math.min(range, all);
    }
}

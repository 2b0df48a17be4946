package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;

/**
 * Identify Controller of the NVM command set, CNS 06h (NVM Command Set 1.0): limits of commands other than Read and Write.
 * Zero means no limit. Setters return this structure.
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

    /** Dataset Management size limit in logical blocks of all ranges. */
    public long dmsl() {
        return u64(8);
    }

    public IdentifyControllerNvm dmsl(long value) {
        u64(8, value);
        return this;
    }
}

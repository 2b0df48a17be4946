package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * Identify Namespace of the NVM command set, CNS 05h (NVM Command Set 1.0): protection information formats. Setters return
 * this structure.
 *
 * <p>Not safe for use by several threads.
 */
public final class IdentifyNamespaceNvm extends DataStructure {
    public static final int SIZE_BYTES = 4096;

    private static final int ELBAF = 12;

    /** All zeroes. */
    public IdentifyNamespaceNvm() {
        super(SIZE_BYTES);
    }

    private IdentifyNamespaceNvm(MemorySegment segment, long offset) {
        super(SIZE_BYTES, segment, offset);
    }

    /**
     * A copy of {@value #SIZE_BYTES} bytes; every content is accepted.
     *
     * @throws IndexOutOfBoundsException if the segment ends before
     */
    public static IdentifyNamespaceNvm parse(MemorySegment segment, long offset) {
        return new IdentifyNamespaceNvm(segment, offset);
    }

    /** Logical block storage tag mask. */
    public long lbstm() {
        return u64(0);
    }

    public IdentifyNamespaceNvm lbstm(long value) {
        u64(0, value);
        return this;
    }

    /** Protection information capabilities. */
    public int pic() {
        return u8(8);
    }

    public IdentifyNamespaceNvm pic(int value) {
        u8(8, value);
        return this;
    }

    /** Extended LBA format as on the wire, 0 to 63: storage tag size in bits 6:0, protection information format in bits 8:7. */
    public int elbaf(int index) {
        return u32(ELBAF + 4 * Objects.checkIndex(index, IdentifyNamespace.MAX_LBA_FORMATS));
    }
}

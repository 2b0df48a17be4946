package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * Commands Supported and Effects log page (NVMe Base 2.0): for each opcode whether the controller has it and what it
 * changes. Setters return this structure.
 *
 * <p>Not safe for use by several threads.
 */
public final class EffectsLog extends DataStructure {
    public static final int SIZE_BYTES = 4096;

    /** Command supported; the other bits mean something only with it. */
    public static final int CSUPP = 1;
    /** Logical block content change. */
    public static final int LBCC = 1 << 1;
    /** Namespace capability change. */
    public static final int NCC = 1 << 2;
    /** Namespace inventory change. */
    public static final int NIC = 1 << 3;
    /** Controller capability change. */
    public static final int CCC = 1 << 4;

    private static final int IOCS = 1024;

    /** All zeroes. */
    public EffectsLog() {
        super(SIZE_BYTES);
    }

    private EffectsLog(MemorySegment segment, long offset) {
        super(SIZE_BYTES, segment, offset);
    }

    /**
     * A copy of {@value #SIZE_BYTES} bytes; every content is accepted.
     *
     * @throws IndexOutOfBoundsException if the segment ends before
     */
    public static EffectsLog parse(MemorySegment segment, long offset) {
        return new EffectsLog(segment, offset);
    }

    /** Effects of an admin command, by opcode 0 to 255. */
    public int admin(int opcode) {
        return u32(4 * Objects.checkIndex(opcode, 256));
    }

    public EffectsLog admin(int opcode, int effects) {
        u32(4 * Objects.checkIndex(opcode, 256), effects);
        return this;
    }

    /** Effects of an I/O command, by opcode 0 to 255. */
    public int io(int opcode) {
        return u32(IOCS + 4 * Objects.checkIndex(opcode, 256));
    }

    public EffectsLog io(int opcode, int effects) {
        u32(IOCS + 4 * Objects.checkIndex(opcode, 256), effects);
        return this;
    }
}

package org.nvmf4j.roce.wire;

import java.lang.foreign.MemorySegment;

/**
 * Accessors of the acknowledge extended transport header (AETH): a syndrome byte (see {@link AethSyndrome}) and the 24-bit
 * message sequence number. IBTA volume 1, section 9.3.5.
 */
public final class Aeth {
    /** Bytes of the header. */
    public static final int LENGTH = 4;

    private Aeth() {}

    public static int syndrome(MemorySegment m, long offset) {
        return BigEndian.getByte(m, offset);
    }

    /** Messages that the responder has completed, 24 bits. */
    public static int msn(MemorySegment m, long offset) {
        return BigEndian.getInt(m, offset) & 0xFF_FFFF;
    }

    public static void write(MemorySegment m, long offset, int syndrome, int msn) {
        BigEndian.putInt(m, offset, syndrome << 24 | (msn & 0xFF_FFFF));
    }
}

package org.nvmf4j.roce.wire;

import java.lang.foreign.MemorySegment;

/** Accessors of the immediate data header: 4 bytes for the peer's user, here read as a big-endian word. */
public final class ImmDt {
    /** Bytes of the header. */
    public static final int LENGTH = 4;

    private ImmDt() {}

    public static int data(MemorySegment m, long offset) {
        return BigEndian.getInt(m, offset);
    }

    public static void write(MemorySegment m, long offset, int data) {
        BigEndian.putInt(m, offset, data);
    }
}

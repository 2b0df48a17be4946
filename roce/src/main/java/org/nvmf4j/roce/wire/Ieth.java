package org.nvmf4j.roce.wire;

import java.lang.foreign.MemorySegment;

/** Accessors of the invalidate extended transport header (IETH): the R_Key that a SEND with invalidate takes back. */
public final class Ieth {
    /** Bytes of the header. */
    public static final int LENGTH = 4;

    private Ieth() {}

    public static int rKey(MemorySegment m, long offset) {
        return BigEndian.getInt(m, offset);
    }

    public static void write(MemorySegment m, long offset, int rKey) {
        BigEndian.putInt(m, offset, rKey);
    }
}

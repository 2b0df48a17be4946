package org.nvmf4j.roce.wire;

import java.lang.foreign.MemorySegment;

/** Accessors of the atomic acknowledge header (AtomicAckETH): the value that memory held before. */
public final class AtomicAckEth {
    /** Bytes of the header. */
    public static final int LENGTH = 8;

    private AtomicAckEth() {}

    public static long originalValue(MemorySegment m, long offset) {
        return BigEndian.getLong(m, offset);
    }

    public static void write(MemorySegment m, long offset, long originalValue) {
        BigEndian.putLong(m, offset, originalValue);
    }
}

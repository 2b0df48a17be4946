package org.nvmf4j.roce.wire;

import java.lang.foreign.MemorySegment;

/** Accessors of the atomic extended transport header (AtomicETH) of COMPARE SWAP and FETCH ADD. IBTA volume 1, section 9.3.4. */
public final class AtomicEth {
    /** Bytes of the header. */
    public static final int LENGTH = 28;

    private static final int R_KEY = 8;
    private static final int SWAP_OR_ADD = 12;
    private static final int COMPARE = 20;

    private AtomicEth() {}

    public static long virtualAddress(MemorySegment m, long offset) {
        return BigEndian.getLong(m, offset);
    }

    public static int rKey(MemorySegment m, long offset) {
        return BigEndian.getInt(m, offset + R_KEY);
    }

    public static long swapOrAdd(MemorySegment m, long offset) {
        return BigEndian.getLong(m, offset + SWAP_OR_ADD);
    }

    public static long compare(MemorySegment m, long offset) {
        return BigEndian.getLong(m, offset + COMPARE);
    }

    public static void write(
            MemorySegment m, long offset, long virtualAddress, int rKey, long swapOrAdd, long compare) {
        BigEndian.putLong(m, offset, virtualAddress);
        BigEndian.putInt(m, offset + R_KEY, rKey);
        BigEndian.putLong(m, offset + SWAP_OR_ADD, swapOrAdd);
        BigEndian.putLong(m, offset + COMPARE, compare);
    }
}

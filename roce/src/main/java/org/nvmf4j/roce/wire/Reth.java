package org.nvmf4j.roce.wire;

import java.lang.foreign.MemorySegment;

/**
 * Accessors of the RDMA extended transport header (RETH) of WRITE and READ requests: 16 bytes that name the remote memory.
 * IBTA volume 1, section 9.3.3.
 */
public final class Reth {
    /** Bytes of the header. */
    public static final int LENGTH = 16;

    /** Longest message that a RETH may name, in bytes. */
    public static final long MAX_DMA_LENGTH_BYTES = 1L << 31;

    private static final int R_KEY = 8;
    private static final int DMA_LENGTH = 12;

    private Reth() {}

    /** 64 opaque bits, often a kernel address: may look negative. */
    public static long virtualAddress(MemorySegment m, long offset) {
        return BigEndian.getLong(m, offset);
    }

    public static int rKey(MemorySegment m, long offset) {
        return BigEndian.getInt(m, offset + R_KEY);
    }

    /** Bytes of the whole message, unsigned: 0 to 2^32 − 1, of which up to {@link #MAX_DMA_LENGTH_BYTES} are legal. */
    public static long dmaLengthBytes(MemorySegment m, long offset) {
        return BigEndian.getInt(m, offset + DMA_LENGTH) & 0xFFFF_FFFFL;
    }

    public static void write(MemorySegment m, long offset, long virtualAddress, int rKey, int dmaLengthBytes) {
        BigEndian.putLong(m, offset, virtualAddress);
        BigEndian.putInt(m, offset + R_KEY, rKey);
        BigEndian.putInt(m, offset + DMA_LENGTH, dmaLengthBytes);
    }
}

package org.nvmf4j.linux;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Arrays of the kernel's {@code mmsghdr} and {@code iovec} in native memory (64-bit, little-endian). */
final class MessageHeaders {
    /** sizeof(struct mmsghdr). */
    static final long STRIDE = 64;
    /** sizeof(struct iovec). */
    static final long PIECE_BYTES = 16;

    private static final long NAME = 0;
    private static final long NAME_LENGTH = 8;
    private static final long PIECES = 16;
    private static final long PIECE_COUNT = 24;
    private static final long CONTROL = 32;
    private static final long CONTROL_LENGTH = 40;
    private static final long LENGTH = 56;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;

    private MessageHeaders() {}

    static void setPiece(MemorySegment pieces, int index, long address, long lengthBytes) {
        pieces.set(LONG, index * PIECE_BYTES, address);
        pieces.set(LONG, index * PIECE_BYTES + 8, lengthBytes);
    }

    static long pieceAddress(MemorySegment pieces, int index) {
        return pieces.get(LONG, index * PIECE_BYTES);
    }

    static void setName(MemorySegment headers, int index, long address, int lengthBytes) {
        headers.set(LONG, index * STRIDE + NAME, address);
        headers.set(INT, index * STRIDE + NAME_LENGTH, lengthBytes);
    }

    static void setPieces(MemorySegment headers, int index, long address, long count) {
        headers.set(LONG, index * STRIDE + PIECES, address);
        headers.set(LONG, index * STRIDE + PIECE_COUNT, count);
    }

    static void setControl(MemorySegment headers, int index, long address, long lengthBytes) {
        headers.set(LONG, index * STRIDE + CONTROL, address);
        headers.set(LONG, index * STRIDE + CONTROL_LENGTH, lengthBytes);
    }

    static void restoreLengths(MemorySegment headers, int index, int nameBytes, long controlBytes) {
        headers.set(INT, index * STRIDE + NAME_LENGTH, nameBytes);
        headers.set(LONG, index * STRIDE + CONTROL_LENGTH, controlBytes);
    }

    static long controlLength(MemorySegment headers, int index) {
        return headers.get(LONG, index * STRIDE + CONTROL_LENGTH);
    }

    static void setLength(MemorySegment headers, int index, int lengthBytes) {
        headers.set(INT, index * STRIDE + LENGTH, lengthBytes);
    }

    static int length(MemorySegment headers, int index) {
        return headers.get(INT, index * STRIDE + LENGTH);
    }
}

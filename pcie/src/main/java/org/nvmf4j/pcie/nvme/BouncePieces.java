package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import java.lang.foreign.MemorySegment;

/** Pieces of memory that a drive reaches, for data elsewhere. One lane. */
final class BouncePieces implements AutoCloseable {
    static final int PIECE_BYTES = 16384;
    static final int NONE = -1;

    private static final int PIECES = 32;

    private final DmaMemory memory;
    private final int[] free = new int[PIECES];
    private int freeCount = PIECES;

    private BouncePieces(DmaMemory memory) {
        this.memory = memory;
        for (int i = 0; i < PIECES; i++) {
            free[i] = i;
        }
    }

    static BouncePieces allocate(DmaAllocator dma) throws IOException {
        return new BouncePieces(dma.allocate((long) PIECES * PIECE_BYTES));
    }

    /** A piece, or {@link #NONE}. */
    int take() {
        return freeCount == 0 ? NONE : free[--freeCount];
    }

    /** Gives a piece back, if it is one. */
    void give(int piece) {
        if (piece != NONE) {
            free[freeCount++] = piece;
        }
    }

    /** Memory with a piece at {@link #offset}. */
    MemorySegment segment() {
        return memory.segment();
    }

    long offset(int piece) {
        return (long) piece * PIECE_BYTES;
    }

    long busAddress(int piece) {
        return memory.busAddress() + offset(piece);
    }

    @Override
    public void close() {
        memory.close();
    }
}

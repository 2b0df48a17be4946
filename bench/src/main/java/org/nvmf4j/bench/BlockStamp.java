package org.nvmf4j.bench;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * What a block holds when it is written with {@code --verify}: a header that says which block it is and how often it was written, then
 * pseudo-random bytes, all under a CRC32C. So a block that is damaged, misplaced or stale is told apart.
 *
 * <p>Header, 32 bytes, little-endian: magic, CRC32C of all that follows, byte offset on the namespace, generation, seed.
 */
final class BlockStamp {
    static final int HEADER_BYTES = 32;

    private static final int MAGIC = 0x66_6d_76_6e; // "nvmf" in memory
    private static final int CRC = 4;
    private static final int OFFSET = 8;
    private static final int GENERATION = 16;
    private static final int SEED = 24;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final MemorySegment memory;
    private final ByteBuffer view;
    private final int blockBytes;
    private final long seed;
    private final CRC32C crc = new CRC32C();

    /** Stamps and checks blocks of {@code blockBytes} within {@code memory}, of at most 2 GiB. */
    BlockStamp(MemorySegment memory, int blockBytes, long seed) {
        this.memory = memory;
        this.view = memory.asByteBuffer();
        this.blockBytes = blockBytes;
        this.seed = seed;
    }

    /** Fills the block at {@code at} in memory for the namespace's byte {@code offset}. */
    void fill(long at, long offset, long generation) {
        memory.set(INT, at, MAGIC);
        memory.set(LONG, at + OFFSET, offset);
        memory.set(LONG, at + GENERATION, generation);
        memory.set(LONG, at + SEED, seed);
        long state = seed ^ offset ^ (generation << 48);
        for (int i = HEADER_BYTES; i < blockBytes; i += Long.BYTES) {
            state += 0x9e3779b97f4a7c15L;
            memory.set(LONG, at + i, BlockOrder.mix(state));
        }
        memory.set(INT, at + CRC, crcOf(at));
    }

    /**
     * Checks the block at {@code at} in memory.
     *
     * @param generation expected, or −1 for any
     * @return null if it is right, else what is wrong
     */
    @org.jspecify.annotations.Nullable
    String check(long at, long offset, long generation) {
        if (memory.get(INT, at) != MAGIC) {
            return "no verify header: the block was not written with verify and this bs, or its data is lost";
        }
        if (memory.get(INT, at + CRC) != crcOf(at)) {
            return "CRC32C is wrong: the data is damaged";
        }
        long foundOffset = memory.get(LONG, at + OFFSET);
        if (foundOffset != offset) {
            return "the block holds the data of offset " + foundOffset;
        }
        long foundGeneration = memory.get(LONG, at + GENERATION);
        if (generation >= 0 && foundGeneration != generation) {
            return "the block holds write number " + foundGeneration + " instead of " + generation;
        }
        return null;
    }

    private int crcOf(long at) {
        crc.reset();
        view.limit((int) (at + blockBytes)).position((int) at + OFFSET);
        crc.update(view);
        return (int) crc.getValue();
    }
}

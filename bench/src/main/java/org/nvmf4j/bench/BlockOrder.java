package org.nvmf4j.bench;

/**
 * In which order a job visits the blocks of its region: ascending, or each once in a pseudo-random order, as fio's random map
 * does, but by a keyed permutation (a Feistel network, walked until it stays in range) instead of a map. Passes over the region differ.
 */
final class BlockOrder {
    private static final int ROUNDS = 4;

    private final boolean random;
    private final long blocks;
    private final int halfBits;
    private final long halfMask;
    private final long[] keys = new long[ROUNDS];
    private final long seed;
    private long next;
    private long pass;

    /** An order over {@code blocks} blocks, at least one. */
    BlockOrder(boolean random, long blocks, long seed) {
        this.random = random;
        this.blocks = blocks;
        this.seed = seed;
        int bits = Math.max(2, Long.SIZE - Long.numberOfLeadingZeros(blocks - 1));
        halfBits = (bits + 1) / 2;
        halfMask = (1L << halfBits) - 1;
        rekey();
    }

    /** The next block, from 0 to {@code blocks} − 1; every block once per pass. */
    long next() {
        if (next == blocks) {
            next = 0;
            pass++;
            rekey();
        }
        long block = next++;
        return random ? permute(block) : block;
    }

    private void rekey() {
        for (int i = 0; i < ROUNDS; i++) {
            keys[i] = mix(seed + pass * ROUNDS + i);
        }
    }

    private long permute(long block) {
        long at = block;
        do {
            long left = at >>> halfBits;
            long right = at & halfMask;
            for (long key : keys) {
                long swapped = left ^ (mix(right + key) & halfMask);
                left = right;
                right = swapped;
            }
            at = left << halfBits | right;
        } while (at >= blocks);
        return at;
    }

    /** SplitMix64's finalizer. */
    static long mix(long z) {
        long x = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
        x = (x ^ (x >>> 27)) * 0x94d049bb133111ebL;
        return x ^ (x >>> 31);
    }
}

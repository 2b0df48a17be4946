package org.nvmf4j.roce.wire;

/**
 * Runs a CRC-32 register backwards over zero bytes.
 *
 * <p>Without its initial and final inversion CRC-32 is linear over GF(2), and so is its inverse: going back over any fixed number of
 * zero bytes is a 32 × 32 bit matrix. Here it is kept as eight tables of 16 words, one for each nibble of the register. Two levels of
 * 64 matrices (steps of 4 bytes, and of 256) reach every multiple of 4 below {@link #MAX_BYTES} in 16 look-ups.
 */
final class IcrcBackshift {
    /** Distances below this can be gone back. */
    static final int MAX_BYTES = 64 * 64 * 4;

    private static final int POLYNOMIAL = 0xEDB8_8320;
    private static final int STEP_BYTES = 4;
    private static final int STEPS = 64;
    private static final int TABLE_WORDS = 8 * 16;

    private static final int[] SMALL = tables(STEP_BYTES);
    private static final int[] LARGE = tables(STEP_BYTES * STEPS);

    private IcrcBackshift() {}

    /**
     * The register before {@code bytes} zero bytes that led to {@code register}.
     *
     * @param bytes a multiple of 4, from 0 to below {@link #MAX_BYTES}
     */
    static int back(int register, int bytes) {
        int steps = bytes / STEP_BYTES;
        return apply(LARGE, steps / STEPS, apply(SMALL, steps % STEPS, register));
    }

    private static int apply(int[] tables, int index, int x) {
        int base = index * TABLE_WORDS;
        return tables[base + (x & 15)]
                ^ tables[base + 16 + (x >>> 4 & 15)]
                ^ tables[base + 32 + (x >>> 8 & 15)]
                ^ tables[base + 48 + (x >>> 12 & 15)]
                ^ tables[base + 64 + (x >>> 16 & 15)]
                ^ tables[base + 80 + (x >>> 20 & 15)]
                ^ tables[base + 96 + (x >>> 24 & 15)]
                ^ tables[base + 112 + (x >>> 28)];
    }

    /** The matrices that go back 0, 1, … 63 times {@code distanceBytes}. */
    private static int[] tables(int distanceBytes) {
        int[] tables = new int[STEPS * TABLE_WORDS];
        int[] images = new int[32]; // of the single bits, under the matrix at hand
        int[] step = new int[32];
        for (int bit = 0; bit < 32; bit++) {
            images[bit] = 1 << bit;
            step[bit] = backByBits(1 << bit, distanceBytes * 8);
        }
        for (int index = 0; index < STEPS; index++) {
            for (int nibble = 0; nibble < 8; nibble++) {
                for (int value = 0; value < 16; value++) {
                    tables[index * TABLE_WORDS + nibble * 16 + value] = multiply(images, value << (nibble * 4));
                }
            }
            for (int bit = 0; bit < 32; bit++) {
                images[bit] = multiply(step, images[bit]);
            }
        }
        return tables;
    }

    private static int multiply(int[] matrix, int x) {
        int result = 0;
        for (int rest = x; rest != 0; rest &= rest - 1) {
            result ^= matrix[Integer.numberOfTrailingZeros(rest)];
        }
        return result;
    }

    private static int backByBits(int register, int bits) {
        int r = register;
        for (int i = 0; i < bits; i++) {
            // The polynomial's top bit tells whether the forward step had subtracted it.
            r = r < 0 ? (r ^ POLYNOMIAL) << 1 | 1 : r << 1;
        }
        return r;
    }
}

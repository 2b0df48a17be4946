package org.nvmf4j.testkit;

/**
 * Runs a test once for each of many seeds. A failure names its seed; {@code -Dnvmf4j.seed=N} runs that one alone, and {@code
 * -Dnvmf4j.seeds=N} runs that many instead of the test's own number.
 */
public final class Seeds {
    private Seeds() {}

    /** A test of one seed. */
    @FunctionalInterface
    public interface SeededTest {
        void run(long seed) throws Exception;
    }

    /** Runs the seeds from 1 to {@code count}, the same ones every time. */
    public static void each(int count, SeededTest test) {
        Long only = Long.getLong("nvmf4j.seed");
        if (only != null) {
            run(only, test);
            return;
        }
        int seeds = Integer.getInteger("nvmf4j.seeds", count);
        for (long seed = 1; seed <= seeds; seed++) {
            run(seed, test);
        }
    }

    private static void run(long seed, SeededTest test) {
        try {
            test.run(seed);
        } catch (Exception | AssertionError e) {
            throw new AssertionError("seed " + seed + " failed; -Dnvmf4j.seed=" + seed + " replays it: " + e, e);
        }
    }
}

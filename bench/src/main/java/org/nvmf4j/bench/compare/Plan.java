package org.nvmf4j.bench.compare;

/**
 * How often to run.
 *
 * @param pairs rounds that count; each runs every arm once, in random order
 * @param warmUps rounds before, which do not count
 * @param seed of the order, of each round's workload and of the bootstrap
 */
public record Plan(int pairs, int warmUps, long seed) {
    /** More than a sitting of measuring needs. */
    public static final int MAX_PAIRS = 10_000;

    public Plan {
        if (pairs < 2 || pairs > MAX_PAIRS) {
            throw new IllegalArgumentException("pairs must be 2 to " + MAX_PAIRS + ", not " + pairs);
        }
        if (warmUps < 0 || warmUps > MAX_PAIRS) {
            throw new IllegalArgumentException("warm-up rounds must be 0 to " + MAX_PAIRS + ", not " + warmUps);
        }
    }
}

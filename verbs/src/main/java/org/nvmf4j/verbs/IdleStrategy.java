package org.nvmf4j.verbs;

/**
 * What a lane does while there is nothing to do: spin, then yield the processor, then wait for its vector. Waking from the wait costs
 * tens of microseconds, spinning costs a core.
 *
 * @param spinNanos how long to spin after the last work
 * @param yieldNanos how long to yield after that
 * @param maxParkNanos how long one wait lasts at most; 0 never waits
 */
public record IdleStrategy(long spinNanos, long yieldNanos, long maxParkNanos) {
    /** Spins for ever: lowest latency, takes a whole core. */
    public static final IdleStrategy BUSY_SPIN = new IdleStrategy(Long.MAX_VALUE, 0, 0);

    /** Spins 50 µs, yields for 1 ms, then waits: fast under load, cheap when idle. */
    public static final IdleStrategy BACKOFF = new IdleStrategy(50_000, 1_000_000, 100_000_000);

    /** Waits at once: for control work beside busy lanes. */
    public static final IdleStrategy PARK = new IdleStrategy(0, 0, 100_000_000);
}

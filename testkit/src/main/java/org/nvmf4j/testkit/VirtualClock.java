package org.nvmf4j.testkit;

/** Time that passes only when told to. Nanoseconds, starting at 0. */
public final class VirtualClock {
    private long nowNanos;

    public long nowNanos() {
        return nowNanos;
    }

    /**
     * Moves on to a point in time; one that is past already changes nothing.
     */
    public void advanceTo(long nanos) {
        nowNanos = Math.max(nowNanos, nanos);
    }

    /** Moves on by so many nanoseconds, not negative. */
    public void advance(long nanos) {
        if (nanos < 0) {
            throw new IllegalArgumentException("time does not go back: " + nanos);
        }
        nowNanos += nanos;
    }
}

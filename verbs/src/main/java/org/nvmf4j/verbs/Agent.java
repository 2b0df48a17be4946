package org.nvmf4j.verbs;

/** Work that a {@link Lane} does in every duty cycle, after its vector made progress. */
@FunctionalInterface
public interface Agent {
    /** No deadline, see {@link #nextDeadlineNanos}. */
    long NO_DEADLINE = Long.MAX_VALUE;

    /**
     * Does what there is to do without waiting.
     *
     * @param nowNanos {@link System#nanoTime} at the start of the cycle
     * @return 0 if there was nothing to do
     */
    int doWork(long nowNanos);

    /** When {@link #doWork} is wanted even if nothing arrives, in {@link System#nanoTime}, or {@link #NO_DEADLINE}. */
    default long nextDeadlineNanos() {
        return NO_DEADLINE;
    }
}

package org.nvmf4j.verbs;

/**
 * One of a device's streams of completions and connection events, and the seat of one lane: whatever belongs to a vector
 * (completion queues, their queue pairs, their connections' events) is used by one thread, the one that calls {@link
 * #progress}. Vectors share nothing on the I/O path, so a program scales by using more of them.
 *
 * <p>A hardware provider works by itself and {@code progress} only fetches events; a software provider does all of its work
 * in it.
 */
public interface CompletionVector {
    /** From 0; {@linkplain Device#listen connection requests} arrive on vector 0. */
    int index();

    /**
     * Sends what was posted, takes in what has arrived, runs timers that are due and delivers connection events, without
     * waiting. Never called from within a handler.
     *
     * @return 0 if there was nothing to do
     */
    int progress();

    /**
     * Waits until {@link #progress} may have something to do, {@link #wakeUp} is called, or the time is over. Waking costs tens
     * of microseconds: spin first where latency matters.
     *
     * @param timeoutNanos how long at most; the provider wakes earlier for its own timers
     */
    void awaitWork(long timeoutNanos);

    /** Ends a present or the next {@link #awaitWork}; from any thread. */
    void wakeUp();
}

package org.nvmf4j.verbs;

/**
 * Receives that queue pairs share, as {@code struct ibv_srq}: a message to any of them takes the oldest, and completes it on the receive
 * queue of its queue pair, with that one's context. So memory for messages follows their number and not that of the connections.
 *
 * <p>Used only on the lane of its vector, which is that of its queue pairs too. A queue pair in the error state flushes the receive that a
 * message of its own has begun to fill, and leaves the others to the rest. If it is closed instead, in the midst of a message, that
 * receive does not complete any more, and may keep its room here: who needs each back moves the queue pair to ERROR first and
 * polls.
 */
public interface SharedReceiveQueue extends AutoCloseable {
    /** Receives posted at most. */
    int capacity();

    /**
     * Queues a chain of receives; their buffers belong to the device until they complete.
     *
     * @throws IllegalArgumentException if a request has too many SGEs
     * @throws IllegalStateException if there is no room for the chain, or after {@link #close}
     */
    void postReceive(ReceiveWorkRequest first);

    /**
     * Frees it; what is still posted does not complete any more.
     *
     * @throws IllegalStateException if a queue pair still uses it
     */
    @Override
    void close();
}

package org.nvmf4j.verbs;

/**
 * Where work requests of one or more queue pairs complete. Belongs to the lane of its {@link CompletionVector}: poll,
 * post and close on that lane's thread only.
 */
public interface CompletionQueue extends AutoCloseable {
    /** The vector whose progress fills this queue. */
    CompletionVector vector();

    /** Completions it can hold. A queue that overflows moves its queue pairs to {@link QueuePairState#ERROR}. */
    int capacity();

    /**
     * Hands over up to {@code max} completions that are there already; does not itself make {@linkplain
     * CompletionVector#progress progress}.
     *
     * @return how many were handed over
     */
    int poll(int max, CompletionHandler handler);

    /** Frees the queue; its queue pairs must be closed before. */
    @Override
    void close();
}

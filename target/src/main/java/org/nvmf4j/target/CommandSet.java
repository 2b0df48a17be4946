package org.nvmf4j.target;

/**
 * What a queue understands, which changes once: with its Connect. Called on the queue's lane. A command is first prepared, which
 * says what data it needs; then the queue checks its SGL, finds a buffer and fetches the data; then it is executed.
 */
interface CommandSet {
    /** Checks all that can be checked without the data, and says what data there is; or {@linkplain Request#fail fails}. */
    void prepare(Request request);

    /**
     * Does the command. Data from the host is in place; data to the host is to be written to the same place, all of it.
     *
     * @return whether the request has ended; if not, it is held, or a backend has it and {@link #resume} follows
     */
    boolean execute(Request request);

    /**
     * Goes on when a backend has ended its part.
     *
     * @return whether the request has ended
     */
    boolean resume(Request request);
}

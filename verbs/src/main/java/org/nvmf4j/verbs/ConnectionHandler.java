package org.nvmf4j.verbs;

/**
 * Hears of one connection. Every method is called on the lane of the connection's queue pair, from {@link
 * CompletionVector#progress}. A connection ends with exactly one of {@code onRejected}, {@code onFailed} (before it was
 * established) and {@code onDisconnected} (after); none of them follows {@link Connection#close}.
 */
public interface ConnectionHandler {
    /**
     * The queue pair is {@link QueuePairState#READY_TO_SEND}.
     *
     * @param peer what the other side said, with READ limits already bounded by what was offered; no private data on the accepting
     *     side
     */
    void onEstablished(Connection connection, ConnectionParameters peer);

    /**
     * The peer refused.
     *
     * @param reason IBTA reject reason, see {@link RejectReason}
     * @param privateData what the peer's user says to it, maybe longer than what it wrote and then zero-padded
     */
    void onRejected(Connection connection, int reason, byte[] privateData);

    /** No answer in time, no route, or a refusal by this side's own transport; the message is one line. */
    void onFailed(Connection connection, VerbsException cause);

    /**
     * The connection is gone: the peer disconnected, or {@link Connection#disconnect} is done. The queue pair is in {@link
     * QueuePairState#ERROR}.
     */
    void onDisconnected(Connection connection);
}

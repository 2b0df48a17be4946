package org.nvmf4j.verbs;

import java.net.InetSocketAddress;

/** A connection of one queue pair, as an {@code rdma_cm_id} that has one. Used on the lane of the queue pair. */
public interface Connection extends AutoCloseable {
    InetSocketAddress localAddress();

    InetSocketAddress remoteAddress();

    /**
     * Moves the queue pair to {@link QueuePairState#ERROR}, tells the peer, and ends with {@link
     * ConnectionHandler#onDisconnected} when the peer has answered or does not. Does nothing when already under way.
     */
    void disconnect();

    /** Lets go without waiting: tells the peer once if it was connected; no event follows. The queue pair stays to be closed. */
    @Override
    void close();
}

package org.nvmf4j.verbs;

import java.net.InetSocketAddress;
import org.nvmf4j.verbs.spi.ProviderConnectionRequest;

/**
 * A peer's wish to connect. It must be answered once, by {@link #accept} or {@link #reject}, on any vector's lane and at any
 * time; the peer gives up after some seconds.
 */
public final class ConnectionRequest {
    private final ProviderConnectionRequest provider;

    ConnectionRequest(ProviderConnectionRequest provider) {
        this.provider = provider;
    }

    public InetSocketAddress localAddress() {
        return provider.localAddress();
    }

    public InetSocketAddress remoteAddress() {
        return provider.remoteAddress();
    }

    /** What the peer asks for, with its private data (56 bytes, zero-padded). */
    public ConnectionParameters parameters() {
        return provider.parameters();
    }

    /**
     * Accepts with a queue pair in {@link QueuePairState#INIT}, which is {@link QueuePairState#READY_TO_SEND} when this returns;
     * receives must be posted before. Called on the lane of the queue pair.
     *
     * @throws VerbsException if the request was answered or withdrawn already
     */
    public Connection accept(QueuePair queuePair, ConnectionParameters parameters, ConnectionHandler handler)
            throws VerbsException {
        return provider.accept(queuePair.provider(), parameters, handler);
    }

    /** Refuses with {@link RejectReason#CONSUMER_DEFINED} and up to 148 bytes for the peer's user; from any thread. */
    public void reject(byte[] privateData) {
        provider.reject(privateData);
    }
}

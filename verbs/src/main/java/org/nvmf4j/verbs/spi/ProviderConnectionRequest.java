package org.nvmf4j.verbs.spi;

import java.net.InetSocketAddress;
import org.nvmf4j.verbs.Connection;
import org.nvmf4j.verbs.ConnectionHandler;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.VerbsException;

/** What a provider does for {@link org.nvmf4j.verbs.ConnectionRequest}; threading and errors are as said there. */
public interface ProviderConnectionRequest {
    InetSocketAddress localAddress();

    InetSocketAddress remoteAddress();

    ConnectionParameters parameters();

    Connection accept(ProviderQueuePair queuePair, ConnectionParameters parameters, ConnectionHandler handler)
            throws VerbsException;

    void reject(byte[] privateData);
}

package org.nvmf4j.verbs;

import java.net.InetSocketAddress;

/** Takes connection requests on one service port until closed; closing does not touch connections. Thread-safe. */
public interface Listener extends AutoCloseable {
    InetSocketAddress localAddress();

    @Override
    void close();
}

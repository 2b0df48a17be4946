package org.nvmf4j.verbs;

/** Hears of peers that want to connect to a listener; called on the lane of vector 0. */
@FunctionalInterface
public interface ConnectionRequestHandler {
    void onConnectionRequest(ConnectionRequest request);
}

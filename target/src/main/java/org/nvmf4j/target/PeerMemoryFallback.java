package org.nvmf4j.target;

/** Why the data of a request passed through system memory although its namespace asks for peer memory. */
public enum PeerMemoryFallback {
    /** The controller has none for the namespace: nothing that all clients reach was found, or it could not be had. */
    NOT_SELECTED,
    /** No piece that is large enough is free on the lane now. */
    EXHAUSTED,
    /** The lane's part of the peer memory never had a piece of that size. */
    TOO_LARGE,
    /** The device has vanished. */
    VANISHED,
    /** The data came along in the capsule, whose buffer is posted before anybody knows the namespace. */
    IN_CAPSULE
}

package org.nvmf4j.target.spi;

/**
 * Whether a client can use a peer memory.
 *
 * @param kind how
 * @param distance with {@link Kind#PEER_TO_PEER} as Linux counts it: 0 the same function, 2 two functions of one device, 4 under one
 *     switch, more for each bridge on the way; else 0
 * @param reason for people, in one line: why not, or why only with the CPU; empty with {@link Kind#PEER_TO_PEER}
 */
public record Reach(Kind kind, int distance, String reason) {
    /** How a client reaches a memory. */
    public enum Kind {
        /** By itself, over PCI. */
        PEER_TO_PEER,
        /** It is no PCI device: the CPU does the copying, which works and gains nothing. */
        WITH_THE_CPU,
        /** Not at all. */
        NOT
    }

    public static Reach peerToPeer(int distance) {
        return new Reach(Kind.PEER_TO_PEER, distance, "");
    }

    public static Reach withTheCpu(String reason) {
        return new Reach(Kind.WITH_THE_CPU, 0, reason);
    }

    public static Reach not(String reason) {
        return new Reach(Kind.NOT, 0, reason);
    }
}

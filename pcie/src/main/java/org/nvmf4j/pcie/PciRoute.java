package org.nvmf4j.pcie;

/** Whether and how two PCI functions reach each other. */
public sealed interface PciRoute {
    /** The way that the data takes. */
    enum Via {
        /** Through switches only; the root complex does not see it. */
        SWITCH,
        /** Up to the root complex, which is known to route it. */
        HOST_BRIDGE,
        /** One of the two; which one depends on ACS bits that we may not read. */
        SWITCH_OR_HOST_BRIDGE
    }

    /**
     * They do.
     *
     * @param distance as Linux counts it: 0 the same function, 2 two functions of one device, 4 under one switch, more
     *     for each bridge on the way
     * @param via the way that the data takes
     */
    record Reachable(int distance, Via via) implements PciRoute {}

    /**
     * They don't, or nobody knows that they do.
     *
     * @param reason for people: names both ends, and the remedy where there is one
     */
    record Unreachable(String reason) implements PciRoute {}
}

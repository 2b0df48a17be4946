package org.nvmf4j.host;

import java.net.InetSocketAddress;
import org.nvmf4j.verbs.AddressText;

/** How messages name a queue: {@code I/O queue 2 to 192.0.2.1:4420}. */
record QueueLabel(int qid, InetSocketAddress target) {
    boolean isAdmin() {
        return qid == 0;
    }

    @Override
    public String toString() {
        return (isAdmin() ? "admin queue" : "I/O queue " + qid) + " to " + address(target);
    }

    /** An address as users write it: {@code 192.0.2.1:4420} or {@code [2001:db8::1]:4420}. */
    static String address(InetSocketAddress address) {
        return AddressText.of(address);
    }

    static String hex(int value16) {
        return String.format("0x%04x", value16 & 0xffff);
    }
}

package org.nvmf4j.linux;

import java.net.InetAddress;

/** A UDP port that cannot be bound because another socket has it; the message says whose and what to do. */
public final class PortTakenException extends LinuxException {
    private static final long serialVersionUID = 1L;

    PortTakenException(InetAddress address, int port) {
        super("bind", SystemErrors.EADDRINUSE, PortOwner.explain(address, port));
    }
}

package org.nvmf4j.linux;

import java.net.InetAddress;
import org.jspecify.annotations.Nullable;

/**
 * A UDP port that cannot be bound because another socket has it. The message says whose and what to do; the owner is
 * looked for when the message is first asked for, as that takes a while.
 */
public final class PortTakenException extends LinuxException {
    private static final long serialVersionUID = 1L;

    private final InetAddress address;
    private final int port;
    private @Nullable String explanation;

    PortTakenException(InetAddress address, int port) {
        super("bind", SystemErrors.EADDRINUSE);
        this.address = address;
        this.port = port;
    }

    @Override
    public synchronized String getMessage() {
        String known = explanation;
        if (known == null) {
            known = PortOwner.explain(address, port);
            explanation = known;
        }
        return known;
    }
}

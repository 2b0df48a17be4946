package org.nvmf4j.host;

import java.net.InetSocketAddress;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.ProtectionDomain;

/** What the queues of one association share, and the lane that one of them is on. */
record QueueContext(
        HostLane lane,
        Device device,
        ProtectionDomain domain,
        InetSocketAddress target,
        long connectTimeoutNanos,
        long commandTimeoutNanos) {
    QueueContext on(HostLane other) {
        return new QueueContext(other, device, domain, target, connectTimeoutNanos, commandTimeoutNanos);
    }
}

package org.nvmf4j.roce.cm;

import java.net.InetAddress;
import org.nvmf4j.roce.wire.PathMtu;

/**
 * What a connection manager is and how patient it is. Timeout codes stand for 4.096 µs · 2<sup>code</sup>.
 *
 * @param localAddress of the device, IPv4 or IPv6
 * @param caGuid names this endpoint to its peers: unique and, because peers remember queue pairs by it, new in every process
 * @param pathMtuBytes what the link carries: asked for when connecting, and the most that is accepted
 * @param responseTimeoutCode 0 to 31: when an unanswered message is sent again
 * @param maxRetries 0 to 15: how often a REQ or REP is sent again
 * @param maxDisconnectRetries 0 to 15: how often a DREQ is sent again
 * @param ackTimeoutCode 1 to 31: transport timer of connections made from here, of both ends
 * @param targetAckDelayCode 0 to 31: how long this side may take to acknowledge; above 15 Linux hosts double their timer
 * @param maxHalfOpen accepted handshakes that are not complete, at most; further requests are rejected
 * @param maxConnections connections of any state, at most; further requests are rejected
 * @param maxTimeWait ended connections that are remembered, at most; the oldest go first
 * @param acceptTimeoutNanos after which a request that nobody answers is rejected
 */
public record CmOptions(
        InetAddress localAddress,
        long caGuid,
        int pathMtuBytes,
        int responseTimeoutCode,
        int maxRetries,
        int maxDisconnectRetries,
        int ackTimeoutCode,
        int targetAckDelayCode,
        int maxHalfOpen,
        int maxConnections,
        int maxTimeWait,
        long acceptTimeoutNanos) {
    public CmOptions {
        if (!PathMtu.isValidBytes(pathMtuBytes)) {
            throw new IllegalArgumentException("path MTU must be 256, 512, 1024, 2048 or 4096, not " + pathMtuBytes);
        }
        if ((responseTimeoutCode | ackTimeoutCode | targetAckDelayCode) >>> 5 != 0
                || (maxRetries | maxDisconnectRetries) >>> 4 != 0) {
            throw new IllegalArgumentException("timeout codes are 0 to 31 and retries 0 to 15");
        }
    }

    /**
     * Defaults: half a second between retries (a lost message costs that, where Linux takes several), over 8 s in all, a transport
     * timer of 268 ms.
     */
    public static CmOptions of(InetAddress localAddress, long caGuid, int pathMtuBytes) {
        return new CmOptions(localAddress, caGuid, pathMtuBytes, 17, 15, 5, 16, 13, 256, 16_384, 4096, 30_000_000_000L);
    }
}

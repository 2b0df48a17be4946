package org.nvmf4j.roce.cm;

import java.net.InetSocketAddress;
import org.nvmf4j.verbs.ConnectionParameters;

/**
 * What happened to a connection.
 *
 * <p>The active side hears {@link ReplyReceived}, or else {@link Rejected} or {@link Failed}. The passive side hears {@link
 * RequestReceived}; if it accepts, then {@link Established}, or else {@link Rejected} or {@link Failed}; if the peer gives up before
 * that, {@link RequestWithdrawn}. A connection of either side that was established ends with {@link Disconnected}. After {@link
 * Rejected}, {@link Failed}, {@link RequestWithdrawn} and {@link Disconnected} the connection ID means nothing any more.
 */
public sealed interface CmEvent {
    /** Which connection: the local comm ID, any 32 bits. */
    int connectionId();

    /**
     * A peer wants to connect: answer with {@link ConnectionManager#accept} or {@link ConnectionManager#reject}.
     *
     * @param parameters what the peer offers and wants, with 56 bytes of private data
     * @param remoteQpn the peer's queue pair
     * @param sendPsn with which this side must begin to send
     */
    record RequestReceived(
            int connectionId,
            InetSocketAddress localAddress,
            InetSocketAddress remoteAddress,
            ConnectionParameters parameters,
            int remoteQpn,
            int sendPsn,
            int udpSourcePort,
            int pathMtuBytes,
            long ackTimeoutNanos)
            implements CmEvent {
        /** What a queue pair needs that accepts with these parameters; {@link ConnectionManager#accept} is told the same. */
        public PathParameters path(int localQpn, int startingPsn, ConnectionParameters accepted) {
            return new PathParameters(
                    localQpn,
                    remoteQpn,
                    remoteAddress.getAddress(),
                    udpSourcePort,
                    sendPsn,
                    startingPsn,
                    pathMtuBytes,
                    Math.min(accepted.initiatorDepth(), parameters.responderResources()),
                    Math.min(accepted.responderResources(), parameters.initiatorDepth()),
                    parameters.retryCount(),
                    parameters.rnrRetryCount(),
                    ackTimeoutNanos);
        }
    }

    /** The peer gave up, or nobody answered in time: the request can no longer be accepted. */
    record RequestWithdrawn(int connectionId) implements CmEvent {}

    /**
     * The peer accepted: move the queue pair to READY TO SEND, then call {@link ConnectionManager#confirm}.
     *
     * @param peer what the peer said, READ limits bounded by what was offered, with 196 bytes of private data
     */
    record ReplyReceived(int connectionId, PathParameters path, ConnectionParameters peer) implements CmEvent {}

    /**
     * The peer knows that it was accepted.
     *
     * @param peer what the peer said, READ limits bounded by what was offered, without private data
     */
    record Established(int connectionId, ConnectionParameters peer) implements CmEvent {}

    /**
     * The peer refused.
     *
     * @param reason IBTA reject reason, see {@link org.nvmf4j.verbs.RejectReason}
     * @param privateData 148 bytes
     */
    @SuppressWarnings("ArrayRecordComponent") // private data is a few bytes, handed through once
    record Rejected(int connectionId, int reason, byte[] privateData) implements CmEvent {}

    /** It came to nothing before it was established; one line says why. */
    record Failed(int connectionId, String cause) implements CmEvent {}

    /** It is over: the peer disconnected, or answered a disconnect of this side, or did not answer it at all. */
    record Disconnected(int connectionId) implements CmEvent {}
}

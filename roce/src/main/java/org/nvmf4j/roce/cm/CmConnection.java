package org.nvmf4j.roce.cm;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.ConnectionParameters;

/** One side of a connection, from the first message to the end of its time-wait. */
final class CmConnection {
    enum State {
        /** Active: waits for the REP. */
        REQ_SENT,
        /** Active: the user moves its queue pair. */
        REP_RECEIVED,
        /** Passive: the user decides. */
        REQ_RECEIVED,
        /** Passive: waits for the RTU. */
        REP_SENT,
        ESTABLISHED,
        DREQ_SENT,
        /** Over, but answers what of the peer is still under way. */
        TIME_WAIT,
        GONE
    }

    final int id;
    final boolean active;
    final InetSocketAddress local;
    final InetSocketAddress remote;
    /** Of the REQ that began it. */
    final long transactionId;

    State state;
    /** What this side offered. */
    ConnectionParameters own;

    /** Passive: what the peer wants, until the user has decided. */
    CmEvent.@Nullable RequestReceived request;

    /** Passive: what the user hears of the peer when the connection is established. */
    @Nullable
    ConnectionParameters peer;

    long remoteCaGuid;
    int remoteCommId;
    boolean remoteCommIdKnown;
    int localQpn = -1;
    int startingPsn;
    int remoteQpn = -1;
    int udpSourcePort;
    long ackTimeoutNanos;

    /** Last message of this side, for sending it again. */
    byte @Nullable [] mad;

    int retriesLeft;
    int receiptAcknowledgements;
    boolean timerArmed;
    long deadlineNanos;

    CmConnection(
            int id,
            boolean active,
            State state,
            InetSocketAddress local,
            InetSocketAddress remote,
            long transactionId,
            ConnectionParameters own) {
        this.id = id;
        this.active = active;
        this.state = state;
        this.local = local;
        this.remote = remote;
        this.transactionId = transactionId;
        this.own = own;
    }

    InetAddress remoteAddress() {
        return remote.getAddress();
    }

    /** Whether the handshake is under way on the passive side. */
    boolean isHalfOpen() {
        return state == State.REQ_RECEIVED || state == State.REP_SENT;
    }

    /** Whether a queue pair of this side may still be in use by it. */
    boolean isLive() {
        return state != State.TIME_WAIT && state != State.GONE;
    }
}

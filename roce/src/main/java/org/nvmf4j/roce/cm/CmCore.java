package org.nvmf4j.roce.cm;

import java.net.InetAddress;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Set;
import java.util.random.RandomGenerator;
import org.nvmf4j.roce.cm.CmConnection.State;
import org.nvmf4j.verbs.AddressText;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.RejectReason;

/** What the user's calls, the peer's messages and the timers share: the connections, what waits to go out, and the common steps. */
final class CmCore {
    static final byte[] NOTHING = {};

    /** Messages that wait to be sent, at most; more are lost, as on the network. */
    private static final int MAX_WAITING_TRANSMITS = 4096;

    final CmOptions options;
    final MadWriter writer;
    final ConnectionTable table;
    final Set<Integer> listening = new HashSet<>();
    final ArrayDeque<CmTransmit> transmits = new ArrayDeque<>();
    final ArrayDeque<CmEvent> events = new ArrayDeque<>();
    private final RandomGenerator random;

    CmCore(CmOptions options, RandomGenerator random) {
        this.options = options;
        this.random = random;
        writer = new MadWriter(options);
        table = new ConnectionTable(options.maxTimeWait());
    }

    /** A comm ID that no connection has: random, so that peers do not take it for one of an earlier process. */
    int newId() {
        int id = random.nextInt();
        while (id == 0 || table.byId(id) != null) {
            id = random.nextInt();
        }
        return id;
    }

    long newTransactionId() {
        return random.nextLong();
    }

    int randomPort() {
        return 0x8000 + random.nextInt(0x8000);
    }

    void send(InetAddress destination, byte[] mad) {
        if (transmits.size() < MAX_WAITING_TRANSMITS) {
            transmits.add(new CmTransmit(destination, mad));
        }
    }

    void sendWithRetries(CmConnection c, byte[] mad, int retries, long nowNanos) {
        c.mad = mad;
        c.retriesLeft = retries;
        c.receiptAcknowledgements = 0;
        send(c.remoteAddress(), mad);
        table.arm(c, nowNanos + responseTimeoutNanos());
    }

    long responseTimeoutNanos() {
        return CmTimeout.nanos(options.responseTimeoutCode());
    }

    /** Passive: the peer is known to have the REP. */
    void establish(CmConnection c) {
        table.disarm(c);
        table.setState(c, State.ESTABLISHED);
        c.mad = null;
        if (c.peer != null) {
            events.add(new CmEvent.Established(c.id, c.peer));
            c.peer = null;
        }
    }

    /** A connection that was established is over. */
    void end(CmConnection c, long nowNanos) {
        toTimeWait(c, nowNanos);
        events.add(new CmEvent.Disconnected(c.id));
    }

    void toTimeWait(CmConnection c, long nowNanos) {
        table.toTimeWait(c, nowNanos + c.ackTimeoutNanos);
    }

    /** Refuses what the peer asked, where the user still has to decide. */
    void reject(CmConnection c, int reason, byte[] privateData) {
        byte[] mad = c.state == State.REQ_RECEIVED
                ? writer.rejectReq(c.remoteCommId, reason, privateData, c.transactionId)
                : writer.rejectRep(c, reason, privateData);
        send(c.remoteAddress(), mad);
        table.remove(c);
    }

    /** Ends a handshake that is not complete: tells the peer once. */
    void takeBack(CmConnection c) {
        if (c.state == State.REQ_SENT) {
            send(c.remoteAddress(), writer.rejectTimeout(c));
            table.remove(c);
        } else {
            reject(c, RejectReason.CONSUMER_DEFINED, NOTHING);
        }
    }

    /** Does what is due at {@code nowNanos}. */
    void onTimeout(long nowNanos) {
        for (CmConnection c = table.firstTimer();
                c != null && c.deadlineNanos - nowNanos <= 0;
                c = table.firstTimer()) {
            table.disarm(c);
            switch (c.state) {
                case REQ_SENT, REP_SENT, DREQ_SENT -> retry(c, nowNanos);
                case REQ_RECEIVED -> {
                    reject(c, RejectReason.NO_RESOURCES, NOTHING);
                    events.add(new CmEvent.RequestWithdrawn(c.id));
                }
                case TIME_WAIT -> table.remove(c);
                case REP_RECEIVED, ESTABLISHED, GONE -> {}
            }
        }
    }

    private void retry(CmConnection c, long nowNanos) {
        if (c.retriesLeft > 0 && c.mad != null) {
            c.retriesLeft--;
            send(c.remoteAddress(), c.mad);
            table.arm(c, nowNanos + responseTimeoutNanos());
        } else if (c.state == State.DREQ_SENT) {
            end(c, nowNanos);
        } else {
            String what = c.active ? "to the connection request" : "to the reply that accepts its connection";
            send(c.remoteAddress(), writer.rejectTimeout(c));
            fail(
                    c,
                    "no answer from " + AddressText.of(c.remoteAddress()) + " port " + c.remote.getPort() + " " + what
                            + ", sent " + (options.maxRetries() + 1) + " times"
                            + (c.active ? ": is anything listening there, and does UDP port 4791 get through?" : ""));
        }
    }

    /** A handshake comes to nothing. */
    void fail(CmConnection c, String cause) {
        table.remove(c);
        events.add(new CmEvent.Failed(c.id, cause));
    }

    /** What the peer of a passive side said, READ limits bounded by what this side offered. */
    static ConnectionParameters bounded(ConnectionParameters peer, PathParameters path) {
        return new ConnectionParameters(
                NOTHING, path.initiatorDepth(), path.responderResources(), peer.retryCount(), peer.rnrRetryCount());
    }
}

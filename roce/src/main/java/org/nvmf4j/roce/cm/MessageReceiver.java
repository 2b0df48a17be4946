package org.nvmf4j.roce.cm;

import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.roce.cm.CmConnection.State;
import org.nvmf4j.roce.wire.CmMessage;
import org.nvmf4j.roce.wire.FlowLabel;
import org.nvmf4j.roce.wire.IpCmHeader;
import org.nvmf4j.roce.wire.Mad;
import org.nvmf4j.roce.wire.PathMtu;
import org.nvmf4j.verbs.AddressText;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.RejectReason;

/** What a message from a peer does. Methods give false for a message that fits to nothing. */
final class MessageReceiver {
    /** How often a peer may ask for patience with one message. */
    private static final int MAX_RECEIPT_ACKNOWLEDGEMENTS = 15;

    private final CmCore core;
    private final ConnectionTable table;
    private final MadWriter writer;

    MessageReceiver(CmCore core) {
        this.core = core;
        table = core.table;
        writer = core.writer;
    }

    boolean onMad(MemorySegment m, long offset, InetAddress source, long nowNanos) {
        long transactionId = Mad.transactionId(m, offset);
        return switch (CmMessage.parse(m, offset)) {
            case CmMessage.Req req -> onReq(req, transactionId, source, nowNanos);
            case CmMessage.Rep rep -> onRep(rep, transactionId, source);
            case CmMessage.Rtu rtu -> onRtu(rtu, source);
            case CmMessage.Rej rej -> onRej(rej, source, nowNanos);
            case CmMessage.Dreq dreq -> onDreq(dreq, transactionId, source, nowNanos);
            case CmMessage.Drep drep -> onDrep(drep, source, nowNanos);
            case CmMessage.Mra mra -> onMra(mra, source, nowNanos);
            case null -> false;
        };
    }

    /** The connection that a message names by both comm IDs, if it comes from its peer. */
    private @Nullable CmConnection find(CmMessage message, InetAddress source) {
        CmConnection c = table.byId(message.remoteCommId());
        return c != null
                        && c.remoteCommIdKnown
                        && c.remoteCommId == message.localCommId()
                        && c.remoteAddress().equals(source)
                ? c
                : null;
    }

    // ---- handshake, passive side

    private boolean onReq(CmMessage.Req req, long transactionId, InetAddress source, long nowNanos) {
        CmConnection known = table.byRemoteCommId(source, req.caGuid(), req.localCommId());
        if (known != null) {
            onRepeatedReq(known, transactionId);
            return true;
        }
        IpCmHeader header = IpCmHeader.parse(req.privateData());
        int reason = RequestCheck.reason(req, header, source, core.options);
        int port = IpCmHeader.port(req.serviceId());
        if (!core.listening.contains(port)) {
            reason = RejectReason.INVALID_SERVICE_ID;
        } else if (reason == 0 && dropStale(req, source, nowNanos)) {
            reason = RejectReason.STALE_CONNECTION;
        } else if (reason == 0
                && (table.halfOpen() >= core.options.maxHalfOpen()
                        || table.size() - table.timeWaiting() >= core.options.maxConnections())) {
            reason = RejectReason.NO_RESOURCES;
        }
        if (reason != 0 || header == null) {
            core.send(source, writer.rejectReq(req.localCommId(), reason, CmCore.NOTHING, transactionId));
            return true;
        }
        offer(req, transactionId, new InetSocketAddress(source, header.sourcePort()), port, nowNanos);
        return true;
    }

    private void onRepeatedReq(CmConnection c, long transactionId) {
        if (c.state == State.REP_SENT && c.mad != null) {
            core.send(c.remoteAddress(), c.mad);
        } else if (c.state == State.TIME_WAIT) {
            core.send(
                    c.remoteAddress(),
                    writer.rejectReq(c.remoteCommId, RejectReason.STALE_CONNECTION, CmCore.NOTHING, transactionId));
        }
    }

    /** Whether the peer's queue pair is in a connection already, which the peer must have forgotten: that one ends. */
    private boolean dropStale(CmMessage.Req req, InetAddress source, long nowNanos) {
        CmConnection stale = table.byRemoteQpn(source, req.caGuid(), req.qpn());
        if (stale == null) {
            return false;
        }
        if (stale.state == State.REQ_RECEIVED) {
            table.remove(stale);
            core.events.add(new CmEvent.RequestWithdrawn(stale.id));
        } else {
            dropOld(stale, nowNanos);
        }
        return true;
    }

    private void dropOld(CmConnection c, long nowNanos) {
        core.send(c.remoteAddress(), writer.dreq(c, core.newTransactionId()));
        if (c.state == State.REP_SENT || c.state == State.REP_RECEIVED) {
            core.fail(c, "the peer " + AddressText.of(c.remoteAddress()) + " began anew with the same queue pair");
        } else {
            core.end(c, nowNanos);
        }
    }

    private void offer(CmMessage.Req req, long transactionId, InetSocketAddress remote, int port, long nowNanos) {
        int id = core.newId();
        ConnectionParameters parameters = new ConnectionParameters(
                Arrays.copyOfRange(req.privateData(), IpCmHeader.LENGTH, req.privateData().length),
                req.responderResources(),
                req.initiatorDepth(),
                req.retryCount(),
                req.rnrRetryCount());
        InetSocketAddress local = new InetSocketAddress(core.options.localAddress(), port);
        CmConnection c = new CmConnection(id, false, State.REQ_RECEIVED, local, remote, transactionId, parameters);
        c.remoteCaGuid = req.caGuid();
        c.remoteCommId = req.localCommId();
        c.remoteCommIdKnown = true;
        c.remoteQpn = req.qpn();
        c.ackTimeoutNanos = CmTimeout.ackTimeoutNanos(req.path().localAckTimeout());
        c.request = new CmEvent.RequestReceived(
                id,
                local,
                remote,
                parameters,
                req.qpn(),
                req.startingPsn(),
                FlowLabel.udpSourcePort(req.path().flowLabel()),
                PathMtu.bytes(req.pathMtuCode()),
                c.ackTimeoutNanos);
        table.add(c);
        table.nameRemote(c);
        table.nameRemoteQpn(c);
        table.arm(c, nowNanos + core.options.acceptTimeoutNanos());
        core.events.add(c.request);
    }

    private boolean onRtu(CmMessage.Rtu rtu, InetAddress source) {
        CmConnection c = find(rtu, source);
        if (c == null) {
            return false;
        }
        if (c.state == State.REP_SENT) {
            core.establish(c);
        }
        return true;
    }

    // ---- handshake, active side

    private boolean onRep(CmMessage.Rep rep, long transactionId, InetAddress source) {
        CmConnection c = table.byId(rep.remoteCommId());
        if (c != null && c.state == State.REQ_SENT && c.remoteAddress().equals(source)) {
            return RequestCheck.isUsableQpn(rep.qpn()) && take(c, rep);
        }
        c = find(rep, source);
        if (c == null || c.state == State.TIME_WAIT) {
            core.send(source, writer.rejectUnknownRep(rep, transactionId));
            return false;
        }
        if (c.active && c.state == State.ESTABLISHED && c.mad != null) {
            core.send(source, c.mad); // the RTU was lost
        }
        return true;
    }

    private boolean take(CmConnection c, CmMessage.Rep rep) {
        table.disarm(c);
        c.mad = null;
        c.remoteCommId = rep.localCommId();
        c.remoteCommIdKnown = true;
        c.remoteCaGuid = rep.caGuid();
        c.remoteQpn = rep.qpn();
        // The peer's delay must fit into the timer.
        int ackCode = Math.max(core.options.ackTimeoutCode(), rep.targetAckDelay() + 1);
        c.ackTimeoutNanos = CmTimeout.ackTimeoutNanos(ackCode);
        table.setState(c, State.REP_RECEIVED);
        table.nameRemoteQpn(c);
        PathParameters path = new PathParameters(
                c.localQpn,
                rep.qpn(),
                c.remoteAddress(),
                c.udpSourcePort,
                rep.startingPsn(),
                c.startingPsn,
                core.options.pathMtuBytes(),
                Math.min(c.own.initiatorDepth(), rep.responderResources()),
                Math.min(c.own.responderResources(), rep.initiatorDepth()),
                c.own.retryCount(),
                rep.rnrRetryCount(),
                c.ackTimeoutNanos);
        ConnectionParameters said = new ConnectionParameters(
                rep.privateData(),
                path.initiatorDepth(),
                path.responderResources(),
                c.own.retryCount(),
                rep.rnrRetryCount());
        core.events.add(new CmEvent.ReplyReceived(c.id, path, said));
        return true;
    }

    private boolean onMra(CmMessage.Mra mra, InetAddress source, long nowNanos) {
        CmConnection c = table.byId(mra.remoteCommId());
        if (c == null || !c.remoteAddress().equals(source)) {
            return false;
        }
        boolean waits = mra.messageAcknowledged() == CmMessage.ANSWERS_REQ
                ? c.state == State.REQ_SENT
                : c.state == State.REP_SENT && c.remoteCommId == mra.localCommId();
        if (!waits || c.receiptAcknowledgements >= MAX_RECEIPT_ACKNOWLEDGEMENTS) {
            return false;
        }
        c.receiptAcknowledgements++;
        table.arm(c, nowNanos + CmTimeout.serviceNanos(mra.serviceTimeout()) + core.responseTimeoutNanos());
        return true;
    }

    // ---- refusal

    private boolean onRej(CmMessage.Rej rej, InetAddress source, long nowNanos) {
        CmConnection c = findRejected(rej, source);
        if (c == null) {
            return false;
        }
        switch (c.state) {
            case REQ_SENT, REP_RECEIVED, REP_SENT -> {
                table.remove(c);
                core.events.add(new CmEvent.Rejected(c.id, rej.reason(), rej.privateData()));
            }
            case REQ_RECEIVED -> {
                table.remove(c);
                core.events.add(new CmEvent.RequestWithdrawn(c.id));
            }
            case ESTABLISHED, DREQ_SENT -> core.end(c, nowNanos);
            case TIME_WAIT, GONE -> {}
        }
        return true;
    }

    private @Nullable CmConnection findRejected(CmMessage.Rej rej, InetAddress source) {
        if (rej.reason() == RejectReason.TIMEOUT) {
            CmConnection c = table.byRemoteCommId(source, rej.additionalGuid(), rej.localCommId());
            if (c != null) {
                return c;
            }
        }
        if (rej.messageRejected() != CmMessage.ANSWERS_REQ) {
            return find(rej, source);
        }
        CmConnection c = table.byId(rej.remoteCommId());
        return c != null && c.state == State.REQ_SENT && c.remoteAddress().equals(source) ? c : null;
    }

    // ---- the end

    private boolean onDreq(CmMessage.Dreq dreq, long transactionId, InetAddress source, long nowNanos) {
        CmConnection c = find(dreq, source);
        if (c == null) {
            // The peer has not heard that it is over, and must not wait for an answer.
            core.send(source, writer.drep(dreq, transactionId));
            return false;
        }
        if (dreq.remoteQpn() != c.localQpn) {
            return false;
        }
        switch (c.state) {
            case REP_SENT -> {
                core.establish(c);
                core.end(c, nowNanos);
            }
            case REP_RECEIVED ->
                core.fail(c, "the peer " + AddressText.of(source) + " disconnected during the handshake");
            case ESTABLISHED, DREQ_SENT -> core.end(c, nowNanos);
            case REQ_SENT, REQ_RECEIVED -> {
                return false;
            }
            case TIME_WAIT, GONE -> {}
        }
        core.send(source, writer.drep(dreq, transactionId));
        return true;
    }

    private boolean onDrep(CmMessage.Drep drep, InetAddress source, long nowNanos) {
        CmConnection c = find(drep, source);
        if (c == null) {
            return false;
        }
        if (c.state == State.DREQ_SENT) {
            core.end(c, nowNanos);
        }
        return true;
    }
}

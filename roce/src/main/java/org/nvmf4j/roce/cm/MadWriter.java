package org.nvmf4j.roce.cm;

import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import org.nvmf4j.roce.wire.Bth;
import org.nvmf4j.roce.wire.CmMessage;
import org.nvmf4j.roce.wire.FlowLabel;
import org.nvmf4j.roce.wire.IpCmHeader;
import org.nvmf4j.roce.wire.Mad;
import org.nvmf4j.roce.wire.PathMtu;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.RejectReason;

/** Writes the messages of one endpoint. */
final class MadWriter {
    /** Linux writes this where RoCE has no LID. */
    private static final int NO_LID = 0xFFFF;

    private static final int HOP_LIMIT = 64;
    private static final byte[] NOTHING = {};

    private final CmOptions options;

    MadWriter(CmOptions options) {
        this.options = options;
    }

    byte[] req(CmConnection c) {
        InetAddress remote = c.remoteAddress();
        int sourcePort = c.local.getPort();
        int port = c.remote.getPort();
        ConnectionParameters own = c.own;
        return write(
                new CmMessage.Req(
                        c.id,
                        IpCmHeader.serviceId(port),
                        options.caGuid(),
                        c.localQpn,
                        own.responderResources(),
                        own.initiatorDepth(),
                        options.responseTimeoutCode(),
                        0,
                        true,
                        c.startingPsn,
                        options.responseTimeoutCode(),
                        own.retryCount(),
                        Bth.DEFAULT_P_KEY,
                        PathMtu.code(options.pathMtuBytes()),
                        own.rnrRetryCount(),
                        options.maxRetries(),
                        false,
                        new CmMessage.Path(
                                NO_LID,
                                NO_LID,
                                options.localAddress(),
                                remote,
                                FlowLabel.ofPorts(sourcePort, port),
                                0,
                                0,
                                HOP_LIMIT,
                                0,
                                false,
                                options.ackTimeoutCode()),
                        new IpCmHeader(sourcePort, options.localAddress(), remote).prependTo(own.privateData())),
                c.transactionId);
    }

    /** The REP of a connection that accepts with bounded READ limits. */
    byte[] rep(CmConnection c, PathParameters path) {
        return write(
                new CmMessage.Rep(
                        c.id,
                        c.remoteCommId,
                        c.localQpn,
                        c.startingPsn,
                        path.responderResources(),
                        path.initiatorDepth(),
                        options.targetAckDelayCode(),
                        true,
                        c.own.rnrRetryCount(),
                        false,
                        options.caGuid(),
                        c.own.privateData()),
                c.transactionId);
    }

    byte[] rtu(CmConnection c) {
        return write(new CmMessage.Rtu(c.id, c.remoteCommId, NOTHING), c.transactionId);
    }

    byte[] dreq(CmConnection c, long transactionId) {
        return write(new CmMessage.Dreq(c.id, c.remoteCommId, c.remoteQpn, NOTHING), transactionId);
    }

    /** Answers any DREQ, also of a connection that is long gone. */
    byte[] drep(CmMessage.Dreq dreq, long transactionId) {
        int mine = dreq.remoteCommId();
        int theirs = dreq.localCommId();
        return write(new CmMessage.Drep(mine, theirs, NOTHING), transactionId);
    }

    /** Refuses a REQ; the connection needs no name of this side for that. */
    byte[] rejectReq(int remoteCommId, int reason, byte[] privateData, long transactionId) {
        return write(
                new CmMessage.Rej(0, remoteCommId, CmMessage.ANSWERS_REQ, reason, NOTHING, privateData), transactionId);
    }

    byte[] rejectRep(CmConnection c, int reason, byte[] privateData) {
        return write(
                new CmMessage.Rej(c.id, c.remoteCommId, CmMessage.ANSWERS_REP, reason, NOTHING, privateData),
                c.transactionId);
    }

    /** Answers a REP to a connection that is long gone, so that the peer need not wait. */
    byte[] rejectUnknownRep(CmMessage.Rep rep, long transactionId) {
        int mine = rep.remoteCommId();
        int theirs = rep.localCommId();
        return write(
                new CmMessage.Rej(mine, theirs, CmMessage.ANSWERS_REP, RejectReason.INVALID_COMM_ID, NOTHING, NOTHING),
                transactionId);
    }

    /** Takes back a REQ or REP that was not answered in time: named by CA GUID, since the peer's comm ID may be unknown. */
    byte[] rejectTimeout(CmConnection c) {
        byte[] guid = ByteBuffer.allocate(Long.BYTES).putLong(options.caGuid()).array();
        return write(
                new CmMessage.Rej(c.id, c.remoteCommId, CmMessage.ANSWERS_OTHER, RejectReason.TIMEOUT, guid, NOTHING),
                c.transactionId);
    }

    private static byte[] write(CmMessage message, long transactionId) {
        byte[] mad = new byte[Mad.LENGTH];
        message.write(MemorySegment.ofArray(mad), 0, transactionId);
        return mad;
    }
}

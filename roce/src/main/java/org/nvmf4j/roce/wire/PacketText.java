package org.nvmf4j.roce.wire;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.AddressText;
import org.nvmf4j.verbs.RejectReason;

/** Describes RoCEv2 packets in one line, in the field's words. What the payload means to NVMe is not told here. */
public final class PacketText {
    private PacketText() {}

    /**
     * Describes a packet, however damaged.
     *
     * @param offset of the BTH
     * @param bytes of the UDP payload, ICRC included, all of them inside the segment
     */
    public static String describe(MemorySegment m, long offset, int bytes) {
        StringBuilder text = new StringBuilder(120);
        append(text, m, offset, bytes);
        return text.toString();
    }

    /** Appends what {@link #describe} gives. */
    public static void append(StringBuilder text, MemorySegment m, long offset, int bytes) {
        if (bytes < RocePacket.MIN_BYTES) {
            text.append("malformed: ").append(bytes).append(" bytes are no RoCEv2 packet");
            return;
        }
        appendBth(text, m, offset);
        int payloadBytes = RocePacket.check(m, offset, bytes);
        if (payloadBytes < 0) {
            text.append(" malformed: ")
                    .append(problem(payloadBytes))
                    .append(", ")
                    .append(bytes)
                    .append(" bytes");
            return;
        }
        int opcode = Bth.opcode(m, offset);
        appendExtensions(text, m, offset, opcode);
        if ((Opcode.flags(opcode) & Opcode.HAS_PAYLOAD) != 0) {
            text.append(" payload ").append(payloadBytes);
            int pad = Bth.padCount(m, offset);
            if (pad != 0) {
                text.append(" pad ").append(pad);
            }
        }
        if (GsiPacket.isValid(m, offset, bytes)) {
            appendMad(text, m, offset + GsiPacket.MAD_OFFSET);
        }
    }

    private static String problem(int check) {
        return switch (check) {
            case RocePacket.BAD_LENGTH -> "wrong length";
            case RocePacket.UNKNOWN_OPCODE -> "unknown opcode";
            case RocePacket.BAD_VERSION -> "unknown transport header version";
            default -> "padding or payload that does not fit";
        };
    }

    private static void appendBth(StringBuilder text, MemorySegment m, long offset) {
        text.append(Opcode.name(Bth.opcode(m, offset)));
        hex(text.append(" QP "), Bth.destinationQpn(m, offset));
        text.append(" PSN ").append(Bth.psn(m, offset));
        if (Bth.ackRequest(m, offset)) {
            text.append(" AckReq");
        }
        if (Bth.solicitedEvent(m, offset)) {
            text.append(" SE");
        }
        if (Bth.fecn(m, offset)) {
            text.append(" FECN");
        }
        if (Bth.becn(m, offset)) {
            text.append(" BECN");
        }
        if (Bth.pKey(m, offset) != Bth.DEFAULT_P_KEY) {
            hex(text.append(" P_Key "), Bth.pKey(m, offset));
        }
    }

    private static void appendExtensions(StringBuilder text, MemorySegment m, long offset, int opcode) {
        int flags = Opcode.flags(opcode);
        long first = offset + Bth.LENGTH;
        long second = offset + Opcode.secondExtensionOffset(opcode);
        if ((flags & Opcode.HAS_AETH) != 0) {
            text.append(' ').append(AethSyndrome.words(Aeth.syndrome(m, first)));
            text.append(" MSN ").append(Aeth.msn(m, first));
        }
        if ((flags & Opcode.HAS_RETH) != 0) {
            hex(text.append(" VA "), Reth.virtualAddress(m, first));
            hex(text.append(" R_Key "), Reth.rKey(m, first));
            text.append(" length ").append(Reth.dmaLengthBytes(m, first));
        }
        if ((flags & Opcode.HAS_ATOMIC_ETH) != 0) {
            hex(text.append(" VA "), AtomicEth.virtualAddress(m, first));
            hex(text.append(" R_Key "), AtomicEth.rKey(m, first));
        }
        if ((flags & Opcode.HAS_DETH) != 0) {
            hex(text.append(" from QP "), Deth.sourceQpn(m, first));
        }
        if ((flags & Opcode.HAS_IMMDT) != 0) {
            hex(text.append(" immediate "), ImmDt.data(m, second));
        }
        if ((flags & Opcode.HAS_IETH) != 0) {
            hex(text.append(" invalidate R_Key "), Ieth.rKey(m, second));
        }
    }

    private static void appendMad(StringBuilder text, MemorySegment m, long offset) {
        CmMessage message = CmMessage.parse(m, offset);
        if (message == null) {
            text.append(Mad.isCm(m, offset) ? " CM " + Mad.name(Mad.attributeId(m, offset)) : " MAD of another class");
            return;
        }
        text.append(" CM ").append(Mad.name(message.attributeId()));
        hex(text.append(" comm ID "), message.localCommId());
        if (!(message instanceof CmMessage.Req)) {
            hex(text.append(" to "), message.remoteCommId());
        }
        switch (message) {
            case CmMessage.Req req -> appendReq(text, req);
            case CmMessage.Rep rep -> appendRep(text, rep);
            case CmMessage.Rej rej -> {
                text.append(" reason ").append(rej.reason()).append(" (");
                text.append(RejectReason.words(rej.reason())).append(") for ");
                text.append(answered(rej.messageRejected()));
            }
            case CmMessage.Mra mra -> {
                text.append(" for ").append(answered(mra.messageAcknowledged()));
                text.append(" service timeout ").append(mra.serviceTimeout());
            }
            case CmMessage.Dreq dreq -> hex(text.append(" remote QP "), dreq.remoteQpn());
            case CmMessage.Rtu rtu -> {}
            case CmMessage.Drep drep -> {}
        }
    }

    private static void appendReq(StringBuilder text, CmMessage.Req req) {
        int port = IpCmHeader.port(req.serviceId());
        if (port < 0) {
            hex(text.append(" service ID "), req.serviceId());
        } else {
            text.append(" port ").append(port);
        }
        hex(text.append(" local QP "), req.qpn());
        text.append(" starting PSN ").append(req.startingPsn());
        appendDepths(text, req.responderResources(), req.initiatorDepth());
        if (PathMtu.isValidCode(req.pathMtuCode())) {
            text.append(" path MTU ").append(PathMtu.bytes(req.pathMtuCode()));
        } else {
            text.append(" path MTU code ").append(req.pathMtuCode());
        }
        text.append(" retries ").append(req.retryCount());
        text.append(" RNR retries ").append(req.rnrRetryCount());
        text.append(" ACK timeout ").append(req.path().localAckTimeout());
        text.append(" CM timeouts ").append(req.localResponseTimeout());
        text.append('/').append(req.remoteResponseTimeout());
        hex(text.append(" CA GUID "), req.caGuid());
        text.append(" GIDs ").append(AddressText.of(req.path().localGid()));
        text.append(" > ").append(AddressText.of(req.path().remoteGid()));
        @Nullable IpCmHeader header = IpCmHeader.parse(req.privateData());
        if (header != null) {
            text.append(" source port ").append(header.sourcePort());
        }
    }

    private static void appendRep(StringBuilder text, CmMessage.Rep rep) {
        hex(text.append(" local QP "), rep.qpn());
        text.append(" starting PSN ").append(rep.startingPsn());
        appendDepths(text, rep.responderResources(), rep.initiatorDepth());
        text.append(" target ACK delay ").append(rep.targetAckDelay());
        text.append(" RNR retries ").append(rep.rnrRetryCount());
        hex(text.append(" CA GUID "), rep.caGuid());
    }

    private static void appendDepths(StringBuilder text, int responderResources, int initiatorDepth) {
        text.append(" responder resources ").append(responderResources);
        text.append(" initiator depth ").append(initiatorDepth);
    }

    private static String answered(int message) {
        return switch (message) {
            case CmMessage.ANSWERS_REQ -> "REQ";
            case CmMessage.ANSWERS_REP -> "REP";
            default -> "other";
        };
    }

    private static void hex(StringBuilder text, int value) {
        text.append("0x").append(Integer.toHexString(value));
    }

    private static void hex(StringBuilder text, long value) {
        text.append("0x").append(Long.toHexString(value));
    }
}

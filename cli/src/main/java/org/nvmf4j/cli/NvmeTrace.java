package org.nvmf4j.cli;

import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.CommandText;
import org.nvmf4j.nvme.CompletionQueueEntry;
import org.nvmf4j.nvme.NvmeFormatException;
import org.nvmf4j.nvme.RdmaPrivateData;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.roce.wire.Bth;
import org.nvmf4j.roce.wire.CmMessage;
import org.nvmf4j.roce.wire.GsiPacket;
import org.nvmf4j.roce.wire.IpCmHeader;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.roce.wire.RoceFrame;
import org.nvmf4j.roce.wire.RocePacket;

/**
 * Follows the NVMe queues of a capture: which queue pair is which queue comes from its connection messages. A queue pair whose connection
 * was not captured is taken for an I/O queue, until it carries a command that only an admin queue has.
 */
final class NvmeTrace {
    private static final int ENTRY_BYTES = 64;
    private static final int COMPLETION_BYTES = 16;
    /** PSDT: the command's data pointer is an SGL, as every command over a fabric says. */
    private static final int SGL_FLAGS = 0x40;

    /** A queue, known by the queue pairs at both of its ends. */
    private static final class Queue {
        private final @Nullable Integer qid;
        private final Set<Integer> fabricsCommands = new HashSet<>();

        Queue(@Nullable Integer qid) {
            this.qid = qid;
        }

        boolean isAdmin() {
            return qid != null && qid == 0;
        }

        String prefix() {
            return qid == null ? "" : "qid " + qid + " ";
        }
    }

    private record Pending(String hostQueuePair, Queue queue) {}

    private final Map<String, Queue> queues = new HashMap<>();
    private final Map<Integer, Pending> requests = new HashMap<>();

    /** What the packet means to NVMe, or an empty text. The packet is complete. */
    String describe(RoceFrame frame) {
        MemorySegment m = frame.segment();
        int offset = frame.packetOffset();
        if (GsiPacket.isValid(m, offset, frame.packetBytes())) {
            CmMessage message = CmMessage.parse(m, offset + GsiPacket.MAD_OFFSET);
            return message == null ? "" : describe(message, frame);
        }
        int payloadBytes = RocePacket.check(m, offset, frame.packetBytes());
        int opcode = Bth.opcode(m, offset);
        int flags = Opcode.flags(opcode);
        if (payloadBytes < COMPLETION_BYTES
                || Opcode.transport(opcode) != Opcode.TRANSPORT_RC
                || (flags & Opcode.SEND) == 0
                || (flags & Opcode.STARTS_MESSAGE) == 0) {
            return "";
        }
        return describeCapsule(frame, m, offset + Opcode.headerBytes(opcode), payloadBytes);
    }

    private String describeCapsule(RoceFrame frame, MemorySegment m, int payload, int payloadBytes) {
        Queue queue = queues.computeIfAbsent(
                key(frame.destination().getHostAddress(), Bth.destinationQpn(m, frame.packetOffset())),
                k -> new Queue(null));
        if (payloadBytes == COMPLETION_BYTES) {
            boolean fabrics = queue.fabricsCommands.remove(CompletionQueueEntry.commandId(m, payload));
            return queue.prefix() + CommandText.describeCompletion(m, payload, fabrics);
        }
        if (payloadBytes < ENTRY_BYTES || (SubmissionQueueEntry.flags(m, payload) & 0xC0) != SGL_FLAGS) {
            return "";
        }
        if (SubmissionQueueEntry.opcode(m, payload) == AdminOpcode.FABRICS) {
            queue.fabricsCommands.add(SubmissionQueueEntry.commandId(m, payload));
        }
        int inCapsule = payloadBytes - ENTRY_BYTES;
        return queue.prefix()
                + CommandText.describe(m, payload, queue.isAdmin())
                + (inCapsule > 0 ? ", " + inCapsule + " bytes of in-capsule data here" : "");
    }

    private String describe(CmMessage message, RoceFrame frame) {
        return switch (message) {
            case CmMessage.Req req -> request(req, frame);
            case CmMessage.Rep rep -> reply(rep, frame);
            case CmMessage.Rej rej -> reject(rej);
            default -> "";
        };
    }

    private String request(CmMessage.Req req, RoceFrame frame) {
        byte[] data = req.privateData();
        byte[] user = java.util.Arrays.copyOfRange(data, IpCmHeader.LENGTH, data.length);
        try {
            RdmaPrivateData.Request nvme = RdmaPrivateData.Request.parse(user);
            Queue queue = new Queue(nvme.qid());
            String host = key(frame.source().getHostAddress(), req.qpn());
            queues.put(host, queue);
            requests.put(req.localCommId(), new Pending(host, queue));
            return "NVMe/RDMA qid " + nvme.qid() + " hrqsize " + nvme.hrqsize() + " hsqsize " + nvme.hsqsizeZeroBased()
                    + " cntlid " + nvme.cntlid();
        } catch (NvmeFormatException e) {
            return notNvme(e);
        }
    }

    private String reply(CmMessage.Rep rep, RoceFrame frame) {
        Pending pending = requests.get(rep.remoteCommId());
        if (pending != null) {
            queues.put(key(frame.source().getHostAddress(), rep.qpn()), pending.queue());
        }
        try {
            return "NVMe/RDMA crqsize "
                    + RdmaPrivateData.Accept.parse(rep.privateData()).crqsize();
        } catch (NvmeFormatException e) {
            return notNvme(e);
        }
    }

    private static String reject(CmMessage.Rej rej) {
        try {
            RdmaPrivateData.Reject reject = RdmaPrivateData.Reject.parse(rej.privateData());
            return reject.status() == 0 ? "" : "NVMe/RDMA reject: " + RdmaPrivateData.words(reject.status());
        } catch (NvmeFormatException e) {
            return notNvme(e);
        }
    }

    private static String notNvme(NvmeFormatException e) {
        return "private data that is not NVMe/RDMA: " + e.getMessage();
    }

    private static String key(String address, int queuePair) {
        return address + "/" + queuePair;
    }
}

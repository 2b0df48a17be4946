package org.nvmf4j.roce.rc;

import java.lang.foreign.MemorySegment;
import org.nvmf4j.roce.wire.Bth;
import org.nvmf4j.roce.wire.Ieth;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.roce.wire.PacketSink;
import org.nvmf4j.roce.wire.Reth;
import org.nvmf4j.roce.wire.RocePacket;
import org.nvmf4j.verbs.WorkOpcode;

/** Cuts send work requests into packets at the path MTU. A packet depends on its request and its PSN alone. */
final class RequestPackets {
    /** What became of a packet. */
    enum Emission {
        SENT,
        /** The sink takes no more now. */
        NO_ROOM,
        /** The request's memory must not, or cannot, be used any more. */
        NO_MEMORY
    }

    private final RcContext context;
    private final SendQueue queue;

    RequestPackets(RcContext context, SendQueue queue) {
        this.context = context;
        this.queue = queue;
    }

    private long payloadOffset(long request, long psn) {
        return context.bytes(psn - queue.firstPsn(request));
    }

    /** Payload of the packet with that PSN: of the request, or of the response for an RDMA READ. */
    int payloadBytes(long request, long psn) {
        return (int) Math.min(context.mtuBytes, queue.lengthBytes(request) - payloadOffset(request, psn));
    }

    /** Whether the payload of that packet may still be read. */
    boolean readable(long request, long psn) {
        return queue.readable(request, payloadOffset(request, psn), payloadBytes(request, psn));
    }

    /** Emits the packet of a SEND or RDMA WRITE that is {@link #readable}. */
    Emission data(long request, long psn, boolean ackRequest, PacketSink sink) {
        int opcode = opcode(request, psn);
        int payload = payloadBytes(request, psn);
        if (!sink.begin(Opcode.headerBytes(opcode), payload)) {
            return Emission.NO_ROOM;
        }
        MemorySegment header = sink.headerSegment();
        long at = sink.headerOffset();
        writeBth(header, at, opcode, RocePacket.padCount(payload), ackRequest, psn);
        int flags = Opcode.flags(opcode);
        if ((flags & Opcode.HAS_RETH) != 0) {
            int length = queue.lengthBytes(request);
            Reth.write(header, at + Bth.LENGTH, queue.remoteAddress(request), queue.rkey(request), length);
        } else if ((flags & Opcode.HAS_IETH) != 0) {
            Ieth.write(header, at + Opcode.secondExtensionOffset(opcode), queue.rkey(request));
        }
        if (!queue.gather(request, payloadOffset(request, psn), payload, sink)) {
            return Emission.NO_MEMORY;
        }
        end(sink);
        return Emission.SENT;
    }

    /** Emits an RDMA READ request for what is missing from {@code psn} on. */
    Emission read(long request, long psn, PacketSink sink) {
        if (!sink.begin(Opcode.headerBytes(Opcode.RC_READ_REQUEST), 0)) {
            return Emission.NO_ROOM;
        }
        MemorySegment header = sink.headerSegment();
        long at = sink.headerOffset();
        writeBth(header, at, Opcode.RC_READ_REQUEST, 0, true, psn);
        long done = payloadOffset(request, psn);
        int rest = (int) (queue.lengthBytes(request) - done);
        Reth.write(header, at + Bth.LENGTH, queue.remoteAddress(request) + done, queue.rkey(request), rest);
        end(sink);
        return Emission.SENT;
    }

    private void writeBth(MemorySegment header, long at, int opcode, int padCount, boolean ackRequest, long psn) {
        Bth.write(
                header,
                at,
                opcode,
                Bth.MIGRATION_REQUEST, // as hardware sends it
                padCount,
                context.remoteNumber,
                ackRequest,
                (int) psn);
    }

    private void end(PacketSink sink) {
        sink.end();
        context.statistics.packetsSent++;
    }

    private int opcode(long request, long psn) {
        boolean first = psn == queue.firstPsn(request);
        boolean last = psn + 1 == queue.endPsn(request);
        WorkOpcode kind = queue.opcode(request);
        if (kind == WorkOpcode.RDMA_WRITE) {
            return place(
                    first,
                    last,
                    Opcode.RC_WRITE_FIRST,
                    Opcode.RC_WRITE_MIDDLE,
                    Opcode.RC_WRITE_LAST,
                    Opcode.RC_WRITE_ONLY);
        }
        boolean invalidate = kind == WorkOpcode.SEND_WITH_INVALIDATE;
        return place(
                first,
                last,
                Opcode.RC_SEND_FIRST,
                Opcode.RC_SEND_MIDDLE,
                invalidate ? Opcode.RC_SEND_LAST_WITH_INVALIDATE : Opcode.RC_SEND_LAST,
                invalidate ? Opcode.RC_SEND_ONLY_WITH_INVALIDATE : Opcode.RC_SEND_ONLY);
    }

    static int place(boolean first, boolean last, int ifFirst, int ifMiddle, int ifLast, int ifOnly) {
        if (first) {
            return last ? ifOnly : ifFirst;
        }
        return last ? ifLast : ifMiddle;
    }
}

package org.nvmf4j.roce.rc;

import java.lang.foreign.MemorySegment;
import org.nvmf4j.roce.wire.Aeth;
import org.nvmf4j.roce.wire.AethSyndrome;
import org.nvmf4j.roce.wire.Bth;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.roce.wire.PacketSink;
import org.nvmf4j.roce.wire.RocePacket;
import org.nvmf4j.verbs.MemoryRegion;

/**
 * The peer's newest RDMA READ requests (the responder resources): those to answer, and those that may be asked for again. Memory is
 * read when a response leaves, with the rkey looked up anew for every packet.
 *
 * <p>Responses leave in the order of their PSNs. A repeated request for what has not left yet changes nothing. Any other sets its
 * READ's responses to what it asks for, whether or not the earlier ones have left: a requester asks for what it misses.
 */
final class ReadResponses {
    private static final long NONE = -1;

    private final RcContext context;
    private int capacity;
    private int mask;
    private long[] firstPsns = {};
    private int[] packets = {};
    private long[] addresses = {};
    private int[] rkeys = {};
    private int[] lengths = {};
    private int[] msns = {};
    private boolean[] repeats = {};
    /** Where the newest request for each ends, in bytes of the READ. */
    private int[] ends = {};
    /** The responses of the newest request for each: {@code nextPsns} runs from {@code startPsns} to {@code endPsns}. */
    private long[] startPsns = {};

    private long[] nextPsns = {};
    private long[] endPsns = {};
    /** An acknowledgement of earlier requests that must leave before the responses, or {@link #NONE}. */
    private long[] acksBefore = {};

    private int[] ackMsns = {};

    /** Running numbers: oldest remembered, oldest that may have responses to send, behind the newest. */
    private long oldest;

    private long cursor;
    private long end;

    private long failedPsn = NONE;
    private int failedSyndrome;

    ReadResponses(RcContext context) {
        this.context = context;
    }

    void connect(int responderResources) {
        capacity = responderResources;
        int slots = SendQueue.slots(Math.max(capacity, 1));
        mask = slots - 1;
        firstPsns = new long[slots];
        packets = new int[slots];
        addresses = new long[slots];
        rkeys = new int[slots];
        lengths = new int[slots];
        msns = new int[slots];
        repeats = new boolean[slots];
        ends = new int[slots];
        startPsns = new long[slots];
        nextPsns = new long[slots];
        endPsns = new long[slots];
        acksBefore = new long[slots];
        ackMsns = new int[slots];
    }

    private int index(long read) {
        return (int) read & mask;
    }

    private boolean pending(int i) {
        return nextPsns[i] < endPsns[i];
    }

    /** Whether a new request finds room: the peer must not have more outstanding than it was granted. */
    boolean hasRoom() {
        int i = index(oldest);
        return capacity > 0 && (end - oldest < capacity || !pending(i) || repeats[i]);
    }

    /** Takes a new request, forgetting the oldest one if need be; {@link #hasRoom} must have said yes. */
    void add(long psn, long address, int rkey, int length, int msn) {
        if (end - oldest == capacity) {
            oldest++;
            cursor = Math.max(cursor, oldest);
        }
        int i = index(end++);
        ends[i] = length;
        firstPsns[i] = psn;
        packets[i] = context.packets(length);
        addresses[i] = address;
        rkeys[i] = rkey;
        lengths[i] = length;
        msns[i] = msn;
        repeats[i] = false;
        startPsns[i] = psn;
        nextPsns[i] = psn;
        endPsns[i] = psn + packets[i];
        acksBefore[i] = NONE;
    }

    /**
     * Takes a repeated request, for all of a READ or for a part of it.
     *
     * @return false if no READ like this is remembered
     */
    boolean repeat(long psn, long address, int rkey, long length, int msn) {
        long read = find(psn);
        if (read == NONE) {
            return false;
        }
        int i = index(read);
        long skipped = context.bytes(psn - firstPsns[i]);
        if (address != addresses[i] + skipped || rkey != rkeys[i] || length > lengths[i] - skipped) {
            return false;
        }
        long endPsn = psn + context.packets(length);
        if (pending(i) && psn >= nextPsns[i] && endPsn <= endPsns[i]) {
            return true; // it will come anyway
        }
        repeats[i] = true;
        msns[i] = msn;
        ends[i] = (int) (skipped + length);
        startPsns[i] = psn;
        nextPsns[i] = psn;
        endPsns[i] = endPsn;
        cursor = Math.min(cursor, read);
        return true;
    }

    /** Has an acknowledgement of earlier requests leave before the responses of the READ that owns {@code psn}. */
    void acknowledgeBefore(long psn, long ackPsn, int msn) {
        int i = index(find(psn));
        acksBefore[i] = Math.max(acksBefore[i], ackPsn);
        ackMsns[i] = msn;
    }

    private long find(long psn) {
        for (long read = end - 1; read >= oldest; read--) {
            int i = index(read);
            if (psn >= firstPsns[i]) {
                return psn < firstPsns[i] + packets[i] ? read : NONE;
            }
        }
        return NONE;
    }

    /** The newest PSN up to {@code newest} that can be acknowledged for {@code psn} without passing over a READ behind it. */
    long lastPsnBeforeRead(long psn, long newest) {
        long last = newest;
        for (long read = oldest; read < end; read++) {
            long first = firstPsns[index(read)];
            if (first > psn) {
                return Math.min(last, first - 1);
            }
        }
        return last;
    }

    boolean hasPending() {
        while (cursor < end && !pending(index(cursor))) {
            cursor++;
        }
        return cursor < end;
    }

    void dropPending() {
        cursor = end;
        oldest = end;
    }

    /**
     * Emits responses.
     *
     * @return false if the sink ran out of room
     */
    boolean transmit(PacketSink sink) {
        while (hasPending()) {
            int i = index(cursor);
            if (acksBefore[i] != NONE) {
                if (!acknowledge(sink, i)) {
                    return false;
                }
                acksBefore[i] = NONE;
            }
            if (!respond(sink, i)) {
                return false;
            }
        }
        return true;
    }

    private boolean acknowledge(PacketSink sink, int i) {
        return Responses.acknowledge(context, sink, acksBefore[i], AethSyndrome.ACK, ackMsns[i]);
    }

    /** Emits one response, or fails the READ if its memory must not be read any more; false if there is no room. */
    private boolean respond(PacketSink sink, int i) {
        long psn = nextPsns[i];
        long done = context.bytes(psn - firstPsns[i]);
        int payload = (int) Math.min(context.mtuBytes, ends[i] - done);
        long address = addresses[i] + done;
        MemoryRegion region =
                payload == 0 ? null : context.memory.remote(context.domain, rkeys[i], address, payload, false);
        if (region == null && payload != 0) {
            failOrForget(i, psn);
            return true;
        }
        boolean first = psn == startPsns[i];
        boolean last = psn + 1 == endPsns[i];
        int opcode = RequestPackets.place(
                first,
                last,
                Opcode.RC_READ_RESPONSE_FIRST,
                Opcode.RC_READ_RESPONSE_MIDDLE,
                Opcode.RC_READ_RESPONSE_LAST,
                Opcode.RC_READ_RESPONSE_ONLY);
        if (!sink.begin(Opcode.headerBytes(opcode), payload)) {
            return false;
        }
        MemorySegment header = sink.headerSegment();
        long at = sink.headerOffset();
        int pad = RocePacket.padCount(payload);
        Bth.write(header, at, opcode, Bth.MIGRATION_REQUEST, pad, context.remoteNumber, false, (int) psn);
        if (first || last) {
            Aeth.write(header, at + Bth.LENGTH, AethSyndrome.ACK, context.reportMsn(msns[i]));
        }
        if (region != null && !RegionAccess.gather(region, address, payload, sink)) {
            fail(i, psn, AethSyndrome.NAK_REMOTE_OPERATIONAL_ERROR);
            return true;
        }
        sink.end();
        context.statistics.packetsSent++;
        nextPsns[i] = psn + 1;
        return true;
    }

    /** A repeated request may be a stray from before the memory was taken back: it must not cost the connection. */
    private void failOrForget(int i, long psn) {
        if (repeats[i]) {
            nextPsns[i] = endPsns[i];
            context.statistics.badPackets++;
        } else {
            fail(i, psn, AethSyndrome.NAK_REMOTE_ACCESS_ERROR);
        }
    }

    private void fail(int i, long psn, int syndrome) {
        nextPsns[i] = endPsns[i];
        failedPsn = psn;
        failedSyndrome = syndrome;
        dropPending();
    }

    /** PSN of the response whose memory cannot be read, which ends the connection, or −1. */
    long failedPsn() {
        return failedPsn;
    }

    /** The NAK that says why. */
    int failedSyndrome() {
        return failedSyndrome;
    }
}

package org.nvmf4j.roce.rc;

import org.nvmf4j.roce.wire.AethSyndrome;
import org.nvmf4j.roce.wire.PacketSink;

/**
 * What a responder owes the peer besides READ responses: one coalesced ACK, or one NAK.
 *
 * <p>An ACK that is owed waits for this queue pair's next transmission, behind whose packets it travels: a request is usually
 * answered within microseconds, and one ACK for a batch costs a sixteenth of sixteen. It leaves by itself when
 * enough packets wait for it, when a delay has passed, and at once when the peer is in trouble or stalled without it: after
 * a duplicate, after a gap, and when it is asked for in the middle of a message (the peer's window is filling).
 *
 * <p>It never passes READ responses that are due before it: a peer takes an acknowledgement behind a READ for a sign that the
 * responses were lost. And an ACK owed for what came before a READ leaves before its responses, since not every peer
 * takes those as an acknowledgement of earlier requests.
 */
final class Acknowledgements {
    private static final int NONE = -1;
    private static final int LAST_ACK = -2;

    private final RcContext context;
    private final ReadResponses reads;
    private final int everyPackets;
    private final long delayNanos;
    private int rnrSyndrome;

    /** As the responder has them now. */
    private long expected;

    private int msn;

    private boolean owed;
    private boolean urgent;
    private long ackPsn;
    private int packetsWaiting;
    private long deadline;

    /** The peer has been told of the packet that is expected; silence until it comes. */
    private boolean gapReported;
    /** Newest PSN that was dropped for coming too early. */
    private long newestDropped;

    private int nak = NONE;

    /** What ends the connection: a fatal NAK, or {@link #LAST_ACK}; {@link #closed} once it has left. */
    private int fatal = NONE;

    private long fatalPsn;
    private boolean closed;

    Acknowledgements(RcContext context, ReadResponses reads) {
        this.context = context;
        this.reads = reads;
        everyPackets = context.tuning.ackEveryPackets();
        delayNanos = context.tuning.ackDelayNanos();
    }

    void connect(RcParameters parameters) {
        rnrSyndrome = AethSyndrome.rnrNak(parameters.minRnrTimerCode());
        expected = parameters.receivePsn();
    }

    /** A SEND or WRITE packet was executed; {@code expected} and {@code msn} are as after it. */
    void onExecuted(boolean ackRequest, boolean endsMessage, long expected, int msn, long nowNanos) {
        this.expected = expected;
        this.msn = msn;
        packetsWaiting++;
        if (gapReported) {
            recover();
            owe(expected - 1);
            urgent = true;
        } else if (ackRequest) {
            if (!owed) {
                deadline = nowNanos + delayNanos;
            }
            owe(expected - 1);
            urgent |= !endsMessage || packetsWaiting >= everyPackets || delayNanos == 0;
        } else if (owed) {
            owe(expected - 1);
            urgent |= packetsWaiting >= everyPackets;
        }
    }

    /** A new READ was taken; {@code expected} and {@code msn} are as after it. */
    void onReadExecuted(long expected, int msn) {
        this.expected = expected;
        this.msn = msn;
        if (gapReported) {
            recover();
        }
    }

    /** A NAK that did not leave yet stays if a packet behind the gap was dropped: it then reports that one. */
    private void recover() {
        boolean stillMissing = nak == AethSyndrome.NAK_PSN_SEQUENCE_ERROR && newestDropped >= expected;
        gapReported = stillMissing;
        if (!stillMissing) {
            nak = NONE;
        }
    }

    private void owe(long psn) {
        ackPsn = owed ? Math.max(ackPsn, psn) : psn;
        owed = true;
    }

    /** A READ, new or repeated, is about to be answered: what is owed for requests before it goes first. */
    void onRead(long psn, int msnBefore) {
        if (owed && ackPsn < psn) {
            reads.acknowledgeBefore(psn, ackPsn, msnBefore);
            settleAck();
        }
    }

    private void settleAck() {
        owed = false;
        urgent = false;
        packetsWaiting = 0;
    }

    void onDuplicate(long psn) {
        owe(psn);
        urgent = true;
    }

    /** A packet came too early and was dropped. */
    void onGap(long psn) {
        newestDropped = Math.max(newestDropped, psn);
        if (!gapReported) {
            gapReported = true;
            nak = AethSyndrome.NAK_PSN_SEQUENCE_ERROR;
        }
    }

    /** The expected SEND found no receive; it and all behind it are dropped until it comes again. */
    void onReceiverNotReady() {
        gapReported = true;
        nak = rnrSyndrome;
    }

    /** The last word to the peer. */
    void onFatal(long psn, int syndrome) {
        fatal = syndrome;
        fatalPsn = psn;
    }

    /** The connection ends from this side: READs are answered no more; an ACK for what was executed may still leave. */
    void onError() {
        if (fatal != NONE) {
            return;
        }
        if (reads.hasPending()) {
            reads.dropPending();
            settleAck();
        }
        nak = NONE;
        urgent = owed;
        closed = !owed;
        fatal = LAST_ACK;
    }

    void onTimeout(long nowNanos) {
        urgent |= owed && nowNanos >= deadline;
    }

    long nextDeadlineNanos() {
        return owed && !urgent ? deadline : RetryTimer.NONE;
    }

    boolean wantsTransmit() {
        return !closed && (urgent || nak != NONE || fatal != NONE || reads.hasPending());
    }

    /** Emits READ responses; false if the sink ran out of room. */
    boolean transmitReads(PacketSink sink) {
        if (closed) {
            return true;
        }
        boolean room = reads.transmit(sink);
        if (reads.failedPsn() >= 0) {
            onFatal(reads.failedPsn(), reads.failedSyndrome());
            context.fail();
        }
        return room;
    }

    /**
     * Emits the NAK or ACK that is due, if no READ response is due before it.
     *
     * @param carried something else leaves, with which an ACK that could wait may travel
     * @return false if the sink ran out of room
     */
    boolean transmitLast(PacketSink sink, boolean carried, long nowNanos) {
        if (closed || reads.hasPending()) {
            return true;
        }
        if (fatal != NONE) {
            closed = fatal == LAST_ACK ? emit(sink, ackPsn, AethSyndrome.ACK) : emit(sink, fatalPsn, fatal);
            return closed;
        }
        if (nak != NONE) {
            return emit(sink, expected, nak);
        }
        return !owed || !(urgent || carried || nowNanos >= deadline) || emit(sink, ackPsn, AethSyndrome.ACK);
    }

    private boolean emit(PacketSink sink, long psn, int syndrome) {
        if (!Responses.acknowledge(context, sink, psn, syndrome, msn)) {
            return false;
        }
        nak = NONE;
        settleAck();
        return true;
    }
}

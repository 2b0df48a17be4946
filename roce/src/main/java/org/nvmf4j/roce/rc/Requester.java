package org.nvmf4j.roce.rc;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.roce.rc.RequestPackets.Emission;
import org.nvmf4j.roce.wire.Aeth;
import org.nvmf4j.roce.wire.AethSyndrome;
import org.nvmf4j.roce.wire.Bth;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.roce.wire.PacketSink;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;

/**
 * The half of a queue pair that sends requests and takes responses: window, go-back-N, RDMA READ bookkeeping.
 *
 * <p>It goes back where the peer says, or shows, that packets were lost, and halves the window, which grows again with each
 * acknowledgement. A timeout shows no such thing, the peer may just be slow: then only the oldest packet that is not acknowledged
 * and the newest one are sent again. The former fills a gap at the front or makes the peer repeat its acknowledgement; the latter
 * makes it report a gap behind that.
 *
 * <p>Three positions in the stream of PSNs: {@code unacknowledged} ≤ {@code next} ≤ {@code highest}. Going back sets {@code next}
 * to {@code unacknowledged}, which lies in the send queue's head and, inside an RDMA READ, is the next response that is missing:
 * a READ is asked for again from there, never from further back.
 */
final class Requester {
    private static final long NONE = -1;
    /** What losses do not shrink the window below. */
    private static final int MIN_WINDOW_PACKETS = 4;

    private final RcContext context;
    private final SendQueue queue;
    private final RequestPackets packets;
    private final RetryTimer timer;
    private final int maxWindow;
    private final int ackRequestInterval;

    private int initiatorDepth;
    private int window;

    /** Oldest PSN that the peer has not acknowledged. */
    private long unacknowledged;
    /** Next PSN to transmit. */
    private long next;
    /** Behind the newest PSN transmitted ever. */
    private long highest;
    /** The request that {@link #next} belongs to. */
    private long sendRequest;
    /** READ requests between the queue's head and {@link #sendRequest}. */
    private int readsOutstanding;

    private int sinceAckRequest;
    /** Gone back without progress or timeout since: what asks to go back again tells nothing new. */
    private boolean recovering;
    /** The PSN to send again next because of a timeout, with nothing gone back. */
    private long probe = NONE;

    /** A request that must not be sent (on), and why: it fails when all before it have completed. */
    private long barrier = NONE;

    private WorkCompletionStatus barrierStatus = WorkCompletionStatus.SUCCESS;

    Requester(RcContext context, RcSizes sizes, MemorySegment inlineStorage) {
        this.context = context;
        queue = new SendQueue(context, sizes, inlineStorage);
        packets = new RequestPackets(context, queue);
        timer = new RetryTimer(context.tuning);
        maxWindow = context.tuning.windowPackets();
        window = maxWindow;
        ackRequestInterval = context.tuning.ackRequestInterval();
    }

    void connect(RcParameters parameters) {
        initiatorDepth = parameters.initiatorDepth();
        timer.connect(parameters);
        unacknowledged = parameters.sendPsn();
        next = unacknowledged;
        highest = unacknowledged;
        queue.start(unacknowledged);
    }

    void post(SendWorkRequest first) {
        queue.check(first);
        for (@Nullable SendWorkRequest request = first; request != null; request = request.next()) {
            WorkCompletionStatus status = queue.take(request);
            if (status != WorkCompletionStatus.SUCCESS) {
                setBarrier(queue.tail() - 1, status);
            } else if (request.opcode() == WorkOpcode.RDMA_READ && initiatorDepth == 0) {
                setBarrier(queue.tail() - 1, WorkCompletionStatus.LOCAL_QP_OPERATION_ERROR);
            }
        }
        failAtBarrier();
    }

    /** Completes requests that never got into the queue, because the queue pair is in the error state. */
    void flushPost(SendWorkRequest first) {
        for (@Nullable SendWorkRequest request = first; request != null; request = request.next()) {
            context.completions.complete(
                    request.id(), WorkCompletionStatus.WORK_REQUEST_FLUSHED, request.opcode(), 0, 0);
        }
    }

    private void setBarrier(long request, WorkCompletionStatus status) {
        if (barrier < queue.head() || request < barrier) { // one that completed after all does not count
            barrier = request;
            barrierStatus = status;
        }
    }

    private void failAtBarrier() {
        if (barrier == queue.head() && !queue.isEmpty()) {
            fail(barrierStatus);
        }
    }

    /** Fails the oldest request and with it the queue pair. */
    private void fail(WorkCompletionStatus status) {
        if (!context.failed()) {
            context.fail();
            queue.complete(status);
        }
    }

    boolean wantsTransmit() {
        return probe != NONE || wantsNext();
    }

    private boolean wantsNext() {
        return !timer.waitingForReceiver()
                && sendRequest < queue.tail()
                && sendRequest != barrier
                && next - unacknowledged < window
                && (readsOutstanding < initiatorDepth || !queue.isRead(sendRequest));
    }

    /** Transmits what window, READ limit and sink allow; false if the sink ran out of room first. */
    boolean transmit(PacketSink sink, long nowNanos) {
        while (probe != NONE) {
            switch (emit(probeRequest(), probe, true, sink)) {
                case SENT -> advanceProbe(nowNanos);
                case NO_MEMORY -> {
                    if (probe == unacknowledged) {
                        failForMemory(queue.head());
                    }
                    probe = NONE; // the newest one fails when it is the oldest
                }
                case NO_ROOM -> {
                    return false;
                }
            }
        }
        while (wantsNext() && !context.failed()) {
            switch (emit(sendRequest, next, askAck(), sink)) {
                case SENT -> advance(queue.isRead(sendRequest), nowNanos);
                case NO_MEMORY -> failForMemory(sendRequest);
                case NO_ROOM -> {
                    return false;
                }
            }
        }
        return true;
    }

    private Emission emit(long request, long psn, boolean ackRequest, PacketSink sink) {
        if (queue.isRead(request)) {
            return queue.writable(request) ? packets.read(request, psn, sink) : Emission.NO_MEMORY;
        }
        return packets.readable(request, psn) ? packets.data(request, psn, ackRequest, sink) : Emission.NO_MEMORY;
    }

    private void failForMemory(long request) {
        setBarrier(request, WorkCompletionStatus.LOCAL_PROTECTION_ERROR);
        failAtBarrier();
    }

    private long probeRequest() {
        return probe == unacknowledged ? queue.head() : newestRequest();
    }

    /** The request that the PSN before {@link #next} belongs to. */
    private long newestRequest() {
        boolean begun = sendRequest < queue.tail() && queue.firstPsn(sendRequest) < next;
        return begun ? sendRequest : sendRequest - 1;
    }

    /** From the oldest packet to the newest, unless an RDMA READ asked for both. */
    private void advanceProbe(long nowNanos) {
        context.statistics.retransmittedPackets++;
        timer.onTransmit(nowNanos);
        long newest = newestRequest();
        boolean answered = newest == queue.head() && queue.isRead(newest);
        probe = probe < next - 1 && !answered ? next - 1 : NONE;
    }

    /** Whether the packet at {@code next} asks for an acknowledgement: each message's last, in between now and then. */
    private boolean askAck() {
        return next + 1 == queue.endPsn(sendRequest)
                || sinceAckRequest + 1 >= ackRequestInterval
                || next + 1 - unacknowledged >= window;
    }

    private void advance(boolean read, long nowNanos) {
        boolean asks = read || askAck();
        if (next < highest) {
            context.statistics.retransmittedPackets++;
        } else if (asks) {
            timer.onFirstTransmit(next, nowNanos);
        }
        sinceAckRequest = asks ? 0 : sinceAckRequest + 1;
        timer.onTransmit(nowNanos);
        next = read ? queue.endPsn(sendRequest) : next + 1;
        highest = Math.max(highest, next);
        if (next == queue.endPsn(sendRequest)) {
            sendRequest++;
            if (read) {
                readsOutstanding++;
            }
        }
    }

    void onAcknowledge(MemorySegment packet, long offset, long nowNanos) {
        long psn = RcContext.unwrap(Bth.psn(packet, offset), unacknowledged);
        int syndrome = Aeth.syndrome(packet, offset + Bth.LENGTH);
        if (AethSyndrome.isAck(syndrome)) {
            context.statistics.acksReceived++;
        }
        if (psn < unacknowledged) {
            context.statistics.staleResponses++;
        } else if (psn >= highest) {
            context.statistics.badPackets++;
        } else if (AethSyndrome.isAck(syndrome)) {
            acknowledge(psn + 1, nowNanos);
        } else if (AethSyndrome.isRnrNak(syndrome)) {
            onRnrNak(psn, syndrome, nowNanos);
        } else if (syndrome == AethSyndrome.NAK_PSN_SEQUENCE_ERROR) {
            onSequenceNak(psn, nowNanos);
        } else {
            onFatalNak(psn, syndrome, nowNanos);
        }
        failAtBarrier();
    }

    /**
     * Takes an acknowledgement of everything before {@code end}, and goes back if that shows that responses to an RDMA READ were
     * lost: those are never acknowledged, they arrive.
     *
     * @return whether everything before {@code end} is acknowledged now
     */
    private boolean acknowledge(long end, long nowNanos) {
        boolean complete = advanceTo(end, nowNanos);
        if (!complete) {
            goBack();
        }
        return complete;
    }

    private boolean advanceTo(long end, long nowNanos) {
        long before = unacknowledged;
        while (unacknowledged < end && !queue.isRead(queue.head())) {
            long requestEnd = queue.endPsn(queue.head());
            unacknowledged = Math.min(end, requestEnd);
            if (unacknowledged == requestEnd) {
                queue.complete(WorkCompletionStatus.SUCCESS);
            }
        }
        if (unacknowledged != before) {
            onProgress(nowNanos);
        }
        return unacknowledged >= end;
    }

    private void onProgress(long nowNanos) {
        if (next < unacknowledged) { // what was about to be sent again has been acknowledged meanwhile
            next = unacknowledged;
            sendRequest = queue.head();
        }
        recovering = false;
        probe = NONE;
        window = Math.min(window + 1, maxWindow);
        timer.onProgress(unacknowledged, next > unacknowledged, nowNanos);
    }

    private void goBack() {
        if (!recovering) {
            recovering = true;
            context.statistics.goBacks++;
            window = Math.max(window / 2, Math.min(MIN_WINDOW_PACKETS, maxWindow));
            rewind();
            timer.onGoBack();
        }
    }

    private void rewind() {
        next = unacknowledged;
        sendRequest = queue.head();
        readsOutstanding = 0;
        sinceAckRequest = 0;
        probe = NONE;
    }

    private void onSequenceNak(long psn, long nowNanos) {
        context.statistics.sequenceNaksReceived++;
        if (acknowledge(psn, nowNanos) && !timer.waitingForReceiver()) {
            goBack();
        }
    }

    private void onRnrNak(long psn, int syndrome, long nowNanos) {
        context.statistics.rnrNaksReceived++;
        if (!acknowledge(psn, nowNanos) || timer.waitingForReceiver()) {
            return;
        }
        if (timer.onRnrNak(AethSyndrome.rnrTimerNanos(syndrome), nowNanos)) {
            recovering = false;
            rewind();
        } else {
            fail(WorkCompletionStatus.RNR_RETRY_EXCEEDED);
        }
    }

    private void onFatalNak(long psn, int syndrome, long nowNanos) {
        WorkCompletionStatus status = switch (syndrome) {
            case AethSyndrome.NAK_INVALID_REQUEST -> WorkCompletionStatus.REMOTE_INVALID_REQUEST;
            case AethSyndrome.NAK_REMOTE_ACCESS_ERROR -> WorkCompletionStatus.REMOTE_ACCESS_ERROR;
            case AethSyndrome.NAK_REMOTE_OPERATIONAL_ERROR, AethSyndrome.NAK_INVALID_RD_REQUEST ->
                WorkCompletionStatus.REMOTE_OPERATION_ERROR;
            default -> WorkCompletionStatus.SUCCESS;
        };
        if (status == WorkCompletionStatus.SUCCESS) { // a reserved syndrome
            context.statistics.badPackets++;
            return;
        }
        context.statistics.fatalNaksReceived++;
        advanceTo(psn, nowNanos);
        while (queue.endPsn(queue.head()) <= psn) { // behind an RDMA READ whose data will never come now
            queue.complete(WorkCompletionStatus.WORK_REQUEST_FLUSHED);
        }
        fail(status);
    }

    void onReadResponse(MemorySegment packet, long offset, int opcode, int payloadBytes, long nowNanos) {
        long psn = RcContext.unwrap(Bth.psn(packet, offset), unacknowledged);
        if (psn < unacknowledged) {
            context.statistics.staleResponses++;
            return;
        }
        if (psn >= highest || !isResponseDue(packet, offset, opcode, psn, payloadBytes)) {
            context.statistics.badPackets++;
            return;
        }
        // Out of order, responses before this one were lost; otherwise it also acknowledges the requests before it.
        if (acknowledge(psn, nowNanos)) {
            place(packet, offset + Opcode.headerBytes(opcode), psn, payloadBytes, nowNanos);
        }
        failAtBarrier();
    }

    /**
     * Whether a response fits the request that owns its PSN. Whether it calls itself first, middle, last or only says nothing:
     * peers differ there when a READ is retried from its middle.
     */
    private boolean isResponseDue(MemorySegment packet, long offset, int opcode, long psn, int payloadBytes) {
        boolean hasAeth = (Opcode.flags(opcode) & Opcode.HAS_AETH) != 0;
        if (hasAeth && !AethSyndrome.isAck(Aeth.syndrome(packet, offset + Bth.LENGTH))) {
            return false;
        }
        long request = queue.head();
        while (queue.endPsn(request) <= psn) {
            request++;
        }
        return queue.isRead(request) && payloadBytes == packets.payloadBytes(request, psn);
    }

    private void place(MemorySegment packet, long payloadOffset, long psn, int payloadBytes, long nowNanos) {
        long request = queue.head();
        long at = context.bytes(psn - queue.firstPsn(request));
        if (!queue.scatter(request, at, packet, payloadOffset, payloadBytes)) {
            fail(WorkCompletionStatus.LOCAL_PROTECTION_ERROR);
            return;
        }
        unacknowledged = psn + 1;
        if (unacknowledged == queue.endPsn(request)) {
            if (request < sendRequest) {
                readsOutstanding--;
            }
            queue.complete(WorkCompletionStatus.SUCCESS);
        }
        onProgress(nowNanos);
    }

    void onTimeout(long nowNanos) {
        timer.endWait(nowNanos);
        if (!timer.expired(nowNanos)) {
            return;
        }
        context.statistics.timeouts++;
        if (timer.onTimeout(nowNanos)) {
            probe = unacknowledged;
            recovering = false; // the peer may not have reported this gap yet: one sequence NAK still counts
        } else {
            fail(WorkCompletionStatus.RETRY_EXCEEDED);
        }
    }

    long nextDeadlineNanos() {
        return timer.nextDeadlineNanos();
    }

    void flush() {
        queue.flush();
    }

    void clear() {
        queue.clear();
    }
}

package org.nvmf4j.roce.rc;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.roce.wire.Bth;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.roce.wire.PacketSink;
import org.nvmf4j.roce.wire.RocePacket;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.spi.MemoryTable;
import org.nvmf4j.verbs.spi.QueuePairChecks;

/**
 * A reliable-connected queue pair as a state machine: work requests, packets and the time go in; packets, completions and the
 * next deadline come out. SEND (also with invalidate), RDMA WRITE and RDMA READ; no immediate data, no atomics.
 *
 * <p>How its owner drives it: give it every packet of a received batch by {@link #onPacket}, then call {@link #onTimeout} if
 * {@link #nextDeadlineNanos} has come, then {@link #pollTransmit} while {@link #wantsTransmit} (or any time, to let
 * acknowledgements travel along), and send what the sink holds before the next call of any other method: the packets name
 * memory that those calls may free. Packets come first, since a packet that waits in a socket may be what the timer waits for.
 *
 * <p>One thread only. Times are nanoseconds of any clock that never goes back and stays far below {@link Long#MAX_VALUE}. The
 * completion sink is called from inside the methods and must not call back. Nothing is allocated after construction.
 *
 * <p>IBTA volume 1, chapter 9, as Linux rdma_rxe and ConnectX speak it.
 */
public final class RcQueuePair {
    private static final int P_KEY_MASK = 0x7FFF;

    private final RcContext context;
    private final Requester requester;
    private final ReceiveQueue receives;
    private final Responder responder;
    private final Acknowledgements acknowledgements;
    private QueuePairState state = QueuePairState.INIT;
    private boolean requesterFirst;
    private boolean outOfRoom;

    /**
     * A queue pair in {@link QueuePairState#INIT}.
     *
     * @param number 24 bits
     * @param domain whose regions it may use
     * @param memory where lkeys and rkeys are looked up, for every packet
     * @param completions where work requests complete
     * @param inlineStorage at least {@link RcSizes#inlineStorageBytes} bytes of native memory of its own; may be {@link
     *     MemorySegment#NULL} if that is 0
     */
    public RcQueuePair(
            int number,
            RcSizes sizes,
            RcTuning tuning,
            ProtectionDomain domain,
            MemoryTable memory,
            CompletionSink completions,
            MemorySegment inlineStorage) {
        this(number, sizes, tuning, domain, memory, completions, inlineStorage, null);
    }

    /**
     * A queue pair in {@link QueuePairState#INIT} that may share its receives.
     *
     * @param shared where its messages take their receives from; or null, and it has its own
     */
    public RcQueuePair(
            int number,
            RcSizes sizes,
            RcTuning tuning,
            ProtectionDomain domain,
            MemoryTable memory,
            CompletionSink completions,
            MemorySegment inlineStorage,
            @Nullable ReceiveRing shared) {
        if (number >>> 24 != 0) {
            throw new IllegalArgumentException("a queue pair number has 24 bits: " + number);
        }
        if (inlineStorage.byteSize() < sizes.inlineStorageBytes() || !inlineStorage.isNative()) {
            throw new IllegalArgumentException("inline storage must be " + sizes.inlineStorageBytes()
                    + " bytes of native memory, is " + inlineStorage.byteSize());
        }
        context = new RcContext(number, tuning, domain, memory, completions);
        requester = new Requester(context, sizes, inlineStorage);
        receives = shared != null
                ? new ReceiveQueue(context, shared)
                : new ReceiveQueue(context, sizes.maxReceiveRequests(), sizes.maxSge());
        responder = new Responder(context, receives);
        acknowledgements = responder.acknowledgements();
    }

    public int number() {
        return context.number;
    }

    public QueuePairState state() {
        return state;
    }

    public RcStatistics statistics() {
        return context.statistics;
    }

    /**
     * Moves from INIT to READY_TO_SEND.
     *
     * @throws IllegalStateException in any other state
     */
    public void connect(RcParameters parameters) {
        if (state != QueuePairState.INIT) {
            throw new IllegalStateException("queue pair " + context.number + " is in state " + state + ", not INIT");
        }
        context.connect(parameters);
        requester.connect(parameters);
        responder.connect(parameters);
        state = QueuePairState.READY_TO_SEND;
    }

    /**
     * Queues a chain of send work requests, or none of it. In the error state they are flushed.
     *
     * @throws IllegalStateException if there is no room for the chain, or before {@link #connect}, or after {@link #destroy}
     * @throws IllegalArgumentException if a request has too many SGEs, or is marked inline and too long
     */
    public void postSend(SendWorkRequest first) {
        QueuePairChecks.canSend(state);
        if (state == QueuePairState.ERROR) {
            requester.flushPost(first);
        } else {
            requester.post(first);
            settle();
        }
    }

    /**
     * Queues a chain of receives, or none of it. In the error state they are flushed.
     *
     * @throws IllegalStateException if there is no room for the chain, or receives are shared, or after {@link #destroy}
     * @throws IllegalArgumentException if a request has too many SGEs
     */
    public void postReceive(ReceiveWorkRequest first) {
        QueuePairChecks.canReceive(state, receives.isShared());
        if (state == QueuePairState.ERROR) {
            receives.flushPost(first);
        } else {
            receives.post(first);
        }
    }

    /**
     * Takes a packet that came from the peer's address with a right ICRC. A packet that makes no sense is counted and dropped,
     * or ends the connection where the protocol says so.
     *
     * @param offset of the BTH
     * @param lengthBytes from the BTH to the end of the padding, without the ICRC; inside the buffer
     */
    public void onPacket(MemorySegment buffer, long offset, int lengthBytes, long nowNanos) {
        context.statistics.packetsReceived++;
        if (state != QueuePairState.READY_TO_SEND) {
            return;
        }
        int payload = RocePacket.check(buffer, offset, lengthBytes + RocePacket.ICRC_BYTES);
        if (payload < 0 || !isForUs(buffer, offset)) {
            context.statistics.badPackets++;
            return;
        }
        int opcode = Bth.opcode(buffer, offset);
        int flags = Opcode.flags(opcode);
        if ((flags & Opcode.REQUEST) != 0) {
            responder.onRequest(buffer, offset, opcode, payload, nowNanos);
        } else if ((flags & Opcode.READ_RESPONSE) != 0) {
            requester.onReadResponse(buffer, offset, opcode, payload, nowNanos);
        } else if (opcode == Opcode.RC_ACKNOWLEDGE) {
            requester.onAcknowledge(buffer, offset, nowNanos);
        } else {
            context.statistics.badPackets++;
        }
        settle();
    }

    private boolean isForUs(MemorySegment buffer, long offset) {
        return Opcode.transport(Bth.opcode(buffer, offset)) == Opcode.TRANSPORT_RC
                && Bth.destinationQpn(buffer, offset) == context.number
                && (Bth.pKey(buffer, offset) & P_KEY_MASK) == P_KEY_MASK;
    }

    /** Whether {@link #pollTransmit} has something to send that should not wait. */
    public boolean wantsTransmit() {
        return switch (state) {
            case READY_TO_SEND -> requester.wantsTransmit() || acknowledgements.wantsTransmit();
            case ERROR -> acknowledgements.wantsTransmit();
            default -> false;
        };
    }

    /**
     * Emits what may be sent now: READ responses, requests, and behind them the ACK or NAK that is owed. In the error
     * state only what the peer must still learn.
     *
     * @return true if there is more to send at once, usually because the sink had no room for it
     */
    public boolean pollTransmit(PacketSink sink, long nowNanos) {
        boolean room = switch (state) {
            case READY_TO_SEND -> transmit(sink, nowNanos);
            case ERROR -> acknowledgements.transmitReads(sink) && acknowledgements.transmitLast(sink, true, nowNanos);
            default -> true;
        };
        settle();
        return !room || wantsTransmit(); // the latter if a failure on the way left a last word to say
    }

    /** After a sink that was too small the turns change, so that neither half of the queue pair starves. */
    private boolean transmit(PacketSink sink, long nowNanos) {
        long sentBefore = context.statistics.packetsSent;
        boolean room = !outOfRoom || acknowledgements.transmitLast(sink, true, nowNanos);
        if (requesterFirst) {
            room = room && requester.transmit(sink, nowNanos) && acknowledgements.transmitReads(sink);
        } else {
            room = room && acknowledgements.transmitReads(sink) && requester.transmit(sink, nowNanos);
        }
        boolean carried = context.statistics.packetsSent != sentBefore;
        room = room && acknowledgements.transmitLast(sink, carried, nowNanos);
        outOfRoom = !room;
        requesterFirst ^= outOfRoom;
        return room;
    }

    /** When {@link #onTimeout} wants to be called next; {@link Long#MAX_VALUE} for never. */
    public long nextDeadlineNanos() {
        return state == QueuePairState.READY_TO_SEND
                ? Math.min(requester.nextDeadlineNanos(), acknowledgements.nextDeadlineNanos())
                : RetryTimer.NONE;
    }

    /** Does what is due by now; harmless when nothing is. */
    public void onTimeout(long nowNanos) {
        if (state == QueuePairState.READY_TO_SEND) {
            requester.onTimeout(nowNanos);
            acknowledgements.onTimeout(nowNanos);
            settle();
        }
    }

    /**
     * Moves to ERROR: everything posted completes as flushed, so that its memory is free; an owner whose sink still holds packets
     * drops those. The peer is not told; an ACK that it is owed still leaves with the
     * next {@link #pollTransmit}.
     */
    public void toError() {
        if (state != QueuePairState.ERROR && state != QueuePairState.DESTROYED) {
            enterError();
        }
    }

    private void settle() {
        if (context.failed() && state == QueuePairState.READY_TO_SEND) {
            enterError();
        }
    }

    private void enterError() {
        state = QueuePairState.ERROR;
        acknowledgements.onError();
        requester.flush();
        receives.flush();
    }

    /** Destroys the queue pair: no completion and no packet follows. */
    public void destroy() {
        state = QueuePairState.DESTROYED;
        requester.clear();
        receives.clear();
    }
}

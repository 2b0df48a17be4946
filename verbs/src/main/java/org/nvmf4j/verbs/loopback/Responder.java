package org.nvmf4j.verbs.loopback;

import static org.nvmf4j.verbs.WorkCompletionStatus.LOCAL_LENGTH_ERROR;
import static org.nvmf4j.verbs.WorkCompletionStatus.LOCAL_PROTECTION_ERROR;
import static org.nvmf4j.verbs.WorkCompletionStatus.REMOTE_ACCESS_ERROR;
import static org.nvmf4j.verbs.WorkCompletionStatus.REMOTE_INVALID_REQUEST;
import static org.nvmf4j.verbs.WorkCompletionStatus.REMOTE_OPERATION_ERROR;
import static org.nvmf4j.verbs.WorkCompletionStatus.RNR_RETRY_EXCEEDED;
import static org.nvmf4j.verbs.WorkCompletionStatus.SUCCESS;

import java.util.concurrent.TimeUnit;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;
import org.nvmf4j.verbs.spi.MemoryTable;
import org.nvmf4j.verbs.spi.VectorTimers;

/** The responder of one queue pair: executes the peer's requests in order, on this end's lane and with a NIC's checks. */
final class Responder {
    private static final System.Logger LOG = System.getLogger(Responder.class.getName());

    /** Requests that one queue pair executes in one cycle, so that others have their turn. */
    private static final int REQUESTS_PER_TURN = 64;
    /** How long the peer waits before each RNR retry: IBTA timer code 16. */
    private static final long RNR_TIMER_NANOS = TimeUnit.MICROSECONDS.toNanos(10_240);

    private static final int RNR_RETRY_FOR_EVER = 7;

    private final LoopbackQueuePair own;
    private final VectorTimers.Timer rnrTimer;
    private boolean waitsForReceive;
    private boolean rnrRetriesOver;
    private boolean peerFailed;
    /** Whether it failed by memory of its own, of which a responder would not hear. */
    private boolean peersOwnFault;

    /** What became of the receive that the present request took: none taken, or its status and what to say. */
    private boolean receiveTaken;

    private WorkCompletionStatus receiveStatus = SUCCESS;
    private int receivedBytes;
    private int invalidatedRkey;

    Responder(LoopbackQueuePair own) {
        this.own = own;
        this.rnrTimer = own.vector().timers().new Timer(this::onRnrRetriesOver);
    }

    boolean waitsForReceive() {
        return waitsForReceive;
    }

    private void onRnrRetriesOver() {
        rnrRetriesOver = true;
        own.schedule();
    }

    void stop() {
        rnrTimer.cancel();
    }

    /** Executes what the peer has published. Returns how many requests. */
    int serve() {
        LoopbackQueuePair peer = own.peer();
        if (peer == null || peerFailed || own.state() != QueuePairState.READY_TO_SEND) {
            return 0;
        }
        SendQueue sends = peer.sends();
        long next = sends.executed();
        long end = sends.published();
        int served = 0;
        while (next < end && !peerFailed) {
            if (served == REQUESTS_PER_TURN) {
                own.schedule();
                break;
            }
            SendQueue.Request request = sends.request(next);
            if (!isReadyFor(request, peer) || !sends.enter()) {
                break;
            }
            serve(sends, request);
            next++;
            served++;
        }
        if (served > 0) {
            peer.ring();
        }
        if (peerFailed && !rnrRetriesOver && !peersOwnFault) {
            own.toError();
        }
        return served;
    }

    /** Whether the request can be executed or refused now; a SEND without a receive waits. */
    private boolean isReadyFor(SendQueue.Request request, LoopbackQueuePair peer) {
        boolean waits = isSend(request) && own.receives().isEmpty() && !rnrRetriesOver;
        if (waits && !waitsForReceive && peer.rnrRetryCount() != RNR_RETRY_FOR_EVER) {
            rnrTimer.arm(peer.rnrRetryCount() * RNR_TIMER_NANOS);
        }
        waitsForReceive = waits;
        return !waits;
    }

    private static boolean isSend(SendQueue.Request request) {
        return request.opcode == WorkOpcode.SEND || request.opcode == WorkOpcode.SEND_WITH_INVALIDATE;
    }

    private void serve(SendQueue sends, SendQueue.Request request) {
        receiveTaken = false;
        receiveStatus = SUCCESS;
        receivedBytes = 0;
        invalidatedRkey = 0;
        WorkCompletionStatus status;
        try {
            status = execute(request);
        } catch (RuntimeException e) {
            // Memory that this thread may not touch, of a confined or closed arena: one user's fault, not the lane's.
            LOG.log(
                    System.Logger.Level.ERROR,
                    "loopback queue pair " + own.number() + " cannot copy between registered memory: " + e.getMessage(),
                    e);
            status = REMOTE_OPERATION_ERROR;
            receiveStatus = LOCAL_PROTECTION_ERROR;
        }
        peerFailed = status != SUCCESS;
        peersOwnFault = status == LOCAL_PROTECTION_ERROR;
        sends.leave(request, status);
        if (receiveTaken) {
            own.completeReceive(own.receives().remove(), receiveStatus, receivedBytes, invalidatedRkey);
        }
    }

    private WorkCompletionStatus execute(SendQueue.Request request) {
        return switch (request.opcode) {
            case SEND, SEND_WITH_INVALIDATE -> receive(request);
            case RDMA_WRITE -> access(request, true);
            case RDMA_READ -> access(request, false);
            case RECEIVE -> throw new IllegalStateException("a receive in the send queue");
        };
    }

    private WorkCompletionStatus receive(SendQueue.Request request) {
        if (own.receives().isEmpty()) {
            return RNR_RETRY_EXCEEDED;
        }
        rnrTimer.cancel();
        rnrRetriesOver = false;
        receiveTaken = true;
        MemoryTable memory = own.vector().device().memory();
        ScatterGatherList room = own.receives().first();
        long bytes = request.sges.totalBytes();
        if (bytes > room.totalBytes()) {
            receiveStatus = LOCAL_LENGTH_ERROR;
            return REMOTE_INVALID_REQUEST;
        }
        if (!room.resolve(memory, own.domain(), bytes, true)) {
            receiveStatus = LOCAL_PROTECTION_ERROR;
            return REMOTE_OPERATION_ERROR;
        }
        if (request.opcode == WorkOpcode.SEND_WITH_INVALIDATE) {
            if (!memory.invalidate(own.domain(), request.invalidateRkey)) {
                receiveTaken = false; // it stays posted and is flushed
                return REMOTE_ACCESS_ERROR;
            }
            invalidatedRkey = request.invalidateRkey;
        }
        if (!request.sges.copyTo(room)) {
            receiveTaken = request.sges.isThere();
            receiveStatus = LOCAL_PROTECTION_ERROR;
            return receiveTaken ? REMOTE_OPERATION_ERROR : LOCAL_PROTECTION_ERROR;
        }
        receivedBytes = (int) bytes;
        return SUCCESS;
    }

    private WorkCompletionStatus access(SendQueue.Request request, boolean write) {
        long bytes = request.sges.totalBytes();
        if (bytes == 0) {
            return SUCCESS;
        }
        MemoryRegion region =
                own.vector().device().memory().remote(own.domain(), request.rkey, request.remoteAddress, bytes, write);
        if (region == null) {
            return REMOTE_ACCESS_ERROR;
        }
        long offset = request.remoteAddress - region.address();
        boolean done = write ? request.sges.gatherTo(region, offset) : request.sges.scatterFrom(region, offset);
        if (done) {
            return SUCCESS;
        }
        return request.sges.isThere() ? REMOTE_OPERATION_ERROR : LOCAL_PROTECTION_ERROR;
    }
}

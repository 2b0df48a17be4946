package org.nvmf4j.verbs.loopback;

import static org.nvmf4j.verbs.WorkCompletionStatus.LOCAL_LENGTH_ERROR;
import static org.nvmf4j.verbs.WorkCompletionStatus.LOCAL_PROTECTION_ERROR;
import static org.nvmf4j.verbs.WorkCompletionStatus.LOCAL_QP_OPERATION_ERROR;
import static org.nvmf4j.verbs.WorkCompletionStatus.RETRY_EXCEEDED;
import static org.nvmf4j.verbs.WorkCompletionStatus.SUCCESS;
import static org.nvmf4j.verbs.WorkCompletionStatus.WORK_REQUEST_FLUSHED;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.QueuePairOptions;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;
import org.nvmf4j.verbs.spi.CompletionRing;
import org.nvmf4j.verbs.spi.ProviderQueuePair;
import org.nvmf4j.verbs.spi.QueuePairChecks;
import org.nvmf4j.verbs.spi.VectorTimers;

/**
 * One end of a connection. As requester it publishes its send queue to the peer and takes the results; what it does as responder is
 * in {@link Responder}. Everything here runs on its lane but {@link #ring} and {@link #isGone}, which the peer's calls.
 */
final class LoopbackQueuePair implements ProviderQueuePair {
    private static final VarHandle RUNG;

    static {
        try {
            RUNG = MethodHandles.lookup().findVarHandle(LoopbackQueuePair.class, "rung", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** The largest message, as on many NICs. */
    private static final long MAX_MESSAGE_BYTES = 1L << 30;
    /** How long a NIC waits for an acknowledgement before each of its retries: 4.096 µs × 2^14. */
    private static final long ACK_TIMEOUT_NANOS = TimeUnit.MICROSECONDS.toNanos(67_109);

    private final LoopbackVector vector;
    private final ProtectionDomain domain;
    private final CompletionRing sendRing;
    private final CompletionRing receiveRing;
    private final @Nullable Object context;
    private final int number;
    private final int inlineBytes;
    private final int maxSge;
    private final SendQueue sends;
    private final ReceiveQueue receives;
    private final @Nullable LoopbackSharedReceives shared;
    private final Responder responder;
    private final VectorTimers.Timer retryTimer;

    private QueuePairState state = QueuePairState.INIT;
    private boolean connecting;
    private @Nullable LoopbackQueuePair peer;
    private int initiatorDepth;
    private int retryCount;
    private int rnrRetryCount;

    /** Requests before this position are with the peer. */
    private long sent;

    private int readsOutstanding;
    /** How the request at {@link #sent} failed before it could be sent, or SUCCESS. */
    private WorkCompletionStatus localFailure = SUCCESS;

    private boolean scheduled;

    @SuppressWarnings("UnusedVariable") // used through RUNG
    private volatile boolean rung;

    private volatile boolean gone;

    LoopbackQueuePair(
            LoopbackVector vector,
            ProtectionDomain domain,
            CompletionRing sendRing,
            CompletionRing receiveRing,
            QueuePairOptions options,
            @Nullable LoopbackSharedReceives shared,
            int number,
            int inlineBytes) {
        this.vector = vector;
        this.domain = domain;
        this.sendRing = sendRing;
        this.receiveRing = receiveRing;
        this.context = options.context();
        this.number = number;
        this.inlineBytes = inlineBytes;
        this.maxSge = options.maxSge();
        this.sends = new SendQueue(options.maxSendRequests(), maxSge, inlineBytes);
        this.shared = shared;
        this.receives = shared != null ? shared.receives() : new ReceiveQueue(options.maxReceiveRequests(), maxSge);
        this.responder = new Responder(this);
        this.retryTimer = vector.timers().new Timer(this::onRetriesOver);
        sendRing.attach(this);
        receiveRing.attach(this);
        if (shared != null) {
            shared.attach(this);
        }
        vector.add(this);
    }

    LoopbackVector vector() {
        return vector;
    }

    ProtectionDomain domain() {
        return domain;
    }

    ReceiveQueue receives() {
        return receives;
    }

    @Nullable
    LoopbackQueuePair peer() {
        return peer;
    }

    /** Requests for the peer to execute. */
    SendQueue sends() {
        return sends;
    }

    /** How often the peer may answer that it has no receive; set before anything is published. */
    int rnrRetryCount() {
        return rnrRetryCount;
    }

    @Override
    public int number() {
        return number;
    }

    @Override
    public QueuePairState state() {
        return state;
    }

    @Override
    public int inlineBytes() {
        return inlineBytes;
    }

    /** Whether this end answers no more, as it is in the error state or closed; from any thread. */
    boolean isGone() {
        return gone;
    }

    /** Refuses a queue pair that cannot be connected, or not once more. */
    void checkConnectable() {
        QueuePairChecks.connectable(state, connecting);
    }

    void beginConnecting() {
        checkConnectable();
        connecting = true;
    }

    /** A queue pair that was refused is still in INIT and may try again. */
    void endConnecting() {
        connecting = false;
    }

    /** Makes the connection: state READY_TO_SEND. */
    void establish(LoopbackQueuePair other, int initiatorDepth, int retryCount, int rnrRetryCount) {
        this.peer = other;
        this.initiatorDepth = initiatorDepth;
        this.retryCount = retryCount;
        this.rnrRetryCount = rnrRetryCount;
        state = QueuePairState.READY_TO_SEND;
    }

    @Override
    public @Nullable SendWorkRequest postSend(SendWorkRequest first) {
        QueuePairChecks.canSend(state);
        if (state == QueuePairState.ERROR) {
            for (SendWorkRequest request = first; request != null; request = request.next()) {
                completeSend(request.id(), WORK_REQUEST_FLUSHED, request.opcode(), 0);
            }
            return null;
        }
        QueuePairChecks.sends(first, maxSge, inlineBytes, sends.free());
        for (SendWorkRequest request = first; request != null; request = request.next()) {
            sends.post(vector.device().memory(), request);
        }
        schedule();
        return null;
    }

    @Override
    public void postReceive(ReceiveWorkRequest first) {
        QueuePairChecks.canReceive(state, shared != null);
        if (state == QueuePairState.ERROR) {
            for (ReceiveWorkRequest request = first; request != null; request = request.next()) {
                completeReceive(request.id(), WORK_REQUEST_FLUSHED, 0, 0);
            }
            return;
        }
        QueuePairChecks.receives(first, maxSge, receives.free());
        for (ReceiveWorkRequest request = first; request != null; request = request.next()) {
            receives.post(request);
        }
        onReceivesPosted();
    }

    /** A message of the peer's may wait for them. */
    void onReceivesPosted() {
        if (responder.waitsForReceive()) {
            schedule();
        }
    }

    /** Has the next cycle call {@link #work}. */
    void schedule() {
        if (!scheduled) {
            scheduled = true;
            vector.schedule(this);
        }
    }

    /** Has this end's lane look at what the peer did; called on the peer's lane. */
    void ring() {
        // Swapping orders what was published before against the look at the flag; answerDoorbell is the counterpart.
        if (!(boolean) RUNG.getAndSet(this, true)) {
            vector.ring(this);
        }
    }

    /** Looks at what the peer did: results of own requests, and requests of its own. */
    void answerDoorbell() {
        RUNG.getAndSet(this, false);
        schedule();
    }

    /** One turn in its lane's cycle. Returns 0 if there was nothing to do. */
    int work() {
        scheduled = false;
        if (state != QueuePairState.READY_TO_SEND) {
            return 0;
        }
        int work = takeResults();
        work += responder.serve();
        work += transmit();
        return work;
    }

    /** Completes what the peer has executed. */
    private int takeResults() {
        int taken = 0;
        long executed = sends.executed();
        while (sends.completed() < executed) {
            SendQueue.Request request = sends.request(sends.completed());
            sends.complete();
            taken++;
            if (request.opcode == WorkOpcode.RDMA_READ) {
                readsOutstanding--;
            }
            WorkCompletionStatus status = request.status;
            if (status != SUCCESS || request.signaled) {
                completeSend(request.id, status, request.opcode, status == SUCCESS ? request.sges.totalBytes() : 0);
            }
            if (status != SUCCESS) {
                toError();
                return taken;
            }
        }
        return taken;
    }

    /** Gives the peer what was posted, as far as the initiator depth allows. */
    private int transmit() {
        LoopbackQueuePair other = peer;
        if (state != QueuePairState.READY_TO_SEND || other == null) {
            return 0;
        }
        long before = sent;
        while (localFailure == SUCCESS && sent < sends.posted()) {
            SendQueue.Request request = sends.request(sent);
            boolean read = request.opcode == WorkOpcode.RDMA_READ;
            if (read && initiatorDepth > 0 && readsOutstanding >= initiatorDepth) {
                break;
            }
            localFailure = check(request);
            if (localFailure == SUCCESS) {
                readsOutstanding += read ? 1 : 0;
                sent++;
            }
        }
        int work = (int) (sent - before);
        if (work > 0) {
            sends.publish(sent);
            other.ring();
        }
        if (localFailure != SUCCESS && sends.completed() == sent) {
            SendQueue.Request request = sends.request(sent);
            sends.complete();
            completeSend(request.id, localFailure, request.opcode, 0);
            toError();
            return work + 1;
        }
        if (other.isGone() && sends.completed() < sent && !retryTimer.isArmed()) {
            retryTimer.arm((retryCount + 1) * ACK_TIMEOUT_NANOS);
        }
        return work;
    }

    private WorkCompletionStatus check(SendQueue.Request request) {
        boolean read = request.opcode == WorkOpcode.RDMA_READ;
        long bytes = request.sges.totalBytes();
        if (read && initiatorDepth == 0) {
            return LOCAL_QP_OPERATION_ERROR;
        }
        if (bytes > MAX_MESSAGE_BYTES) {
            return LOCAL_LENGTH_ERROR;
        }
        boolean allowed = request.inline
                ? !request.vanished
                : request.sges.resolve(vector.device().memory(), domain, bytes, read);
        return allowed ? SUCCESS : LOCAL_PROTECTION_ERROR;
    }

    /** A peer that is gone did not answer in as long as a NIC would have retried. */
    private void onRetriesOver() {
        if (state != QueuePairState.READY_TO_SEND) {
            return;
        }
        takeResults();
        if (state == QueuePairState.READY_TO_SEND && sends.completed() < sent) {
            SendQueue.Request request = sends.request(sends.completed());
            sends.complete();
            completeSend(request.id, RETRY_EXCEEDED, request.opcode, 0);
            toError();
        }
    }

    void completeSend(long id, WorkCompletionStatus status, WorkOpcode opcode, long lengthBytes) {
        sendRing.add(id, status, opcode, (int) lengthBytes, number, 0, 0, context);
    }

    void completeReceive(long id, WorkCompletionStatus status, int lengthBytes, int invalidatedRkey) {
        receiveRing.add(id, status, WorkOpcode.RECEIVE, lengthBytes, number, invalidatedRkey, 0, context);
    }

    @Override
    public void toError() {
        if (state == QueuePairState.ERROR || state == QueuePairState.DESTROYED) {
            return;
        }
        boolean connected = state == QueuePairState.READY_TO_SEND;
        stop(QueuePairState.ERROR);
        if (connected) {
            takeResults(); // what was done before the gate closed, is done; a failure among it is told as such
        }
        for (; sends.completed() < sends.posted(); sends.complete()) {
            SendQueue.Request request = sends.request(sends.completed());
            completeSend(request.id, WORK_REQUEST_FLUSHED, request.opcode, 0);
        }
        while (shared == null && !receives.isEmpty()) {
            completeReceive(receives.remove(), WORK_REQUEST_FLUSHED, 0, 0);
        }
    }

    /** Enters a state in which this end executes nothing, and the peer nothing for it. */
    private void stop(QueuePairState last) {
        state = last;
        gone = true;
        sends.revoke();
        retryTimer.cancel();
        responder.stop();
        LoopbackQueuePair other = peer;
        if (other != null) {
            other.ring();
        }
    }

    @Override
    public void close() {
        if (state == QueuePairState.DESTROYED) {
            return;
        }
        stop(QueuePairState.DESTROYED);
        sendRing.detach(this);
        receiveRing.detach(this);
        if (shared != null) {
            shared.detach(this);
        }
        vector.remove(this);
    }
}

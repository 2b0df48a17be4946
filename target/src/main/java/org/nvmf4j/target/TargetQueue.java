package org.nvmf4j.target;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.CommandText;
import org.nvmf4j.nvme.CompletionQueueEntry;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.verbs.AddressText;
import org.nvmf4j.verbs.Agent;
import org.nvmf4j.verbs.Connection;
import org.nvmf4j.verbs.ConnectionHandler;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.QueuePair;
import org.nvmf4j.verbs.QueuePairOptions;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkCompletion;
import org.nvmf4j.verbs.WorkCompletionStatus;

/**
 * One NVMe queue: a queue pair, the command slots whose receives are posted on it, and the way of each request from capsule to
 * response (see {@link RequestState}). Everything happens on its lane, and nothing is allocated per command.
 */
final class TargetQueue implements ConnectingQueue, ConnectionHandler {
    private static final System.Logger LOG = System.getLogger(TargetQueue.class.getName());
    private static final LimitedLog WARNINGS = new LimitedLog(LOG);
    /** How long a host may take to Connect a queue. */
    private static final long CONNECT_TIMEOUT_NANOS = 10_000_000_000L;
    /** How long a peer may take to answer a disconnect. */
    private static final long DISCONNECT_TIMEOUT_NANOS = 1_000_000_000L;

    /** How far the end of a queue is. */
    private enum Stage {
        OPEN,
        CLOSING,
        DISCONNECTING,
        DRAINING,
        CLOSED
    }

    private final TargetLane lane;
    private final int qid;
    private final QueueSizes sizes;
    private final CompletionQueues.Shared completions;
    private final QueueMemory memory;
    private final QueuePair queuePair;
    private final Request[] requests;
    private final ReceiveWorkRequest[] receives;
    private final QueueSender sender;

    private Stage stage = Stage.OPEN;
    private CommandSet commands;
    private @Nullable Controller controller;
    private @Nullable Connection connection;
    private boolean connectionEnded;
    private long deadlineNanos;
    private int entries;
    private int head;
    private boolean reportsHead = true;
    private int withBackends;
    private volatile long lastCommandNanos;
    /** Whether the lane has it in its list of queues with something to post. */
    boolean dirty;

    /**
     * Makes the queue pair and posts its receives; nothing is left if this fails.
     *
     * @param qid as the host said in connection management
     */
    TargetQueue(TargetLane lane, int qid, QueueSizes sizes, long nowNanos) throws VerbsException {
        this.lane = lane;
        this.qid = qid;
        this.sizes = sizes;
        this.entries = sizes.receives();
        this.lastCommandNanos = nowNanos;
        this.deadlineNanos = nowNanos + CONNECT_TIMEOUT_NANOS;
        this.commands = lane.connectCommands(this);
        memory = new QueueMemory(lane.protectionDomain(), sizes.receives(), sizes.responses(), sizes.inCapsuleBytes());
        requests = new Request[sizes.receives()];
        receives = new ReceiveWorkRequest[sizes.receives()];
        makeSlots();
        try {
            completions = lane.completionQueues().acquire(sizes.completions());
        } catch (VerbsException e) {
            memory.close();
            throw e;
        }
        try {
            queuePair = lane.device()
                    .createQueuePair(
                            lane.protectionDomain(),
                            new QueuePairOptions(
                                    completions.queue(),
                                    completions.queue(),
                                    sizes.sends(),
                                    sizes.receives(),
                                    2,
                                    CompletionQueueEntry.SIZE_BYTES,
                                    this));
        } catch (VerbsException e) {
            lane.completionQueues().release(completions, sizes.completions());
            memory.close();
            throw e;
        }
        queuePair.postReceive(receives[0]);
        sender = new QueueSender(
                this::writeCompletion, queuePair::postSend, queuePair::postReceive, memory, sizes, receives);
    }

    /** Every slot, and a chain of all receives. */
    private void makeSlots() {
        for (int i = 0; i < requests.length; i++) {
            requests[i] = new Request(this, i, memory.segment(), memory.commandOffset(i), memory.inCapsuleOffset(i));
            ReceiveWorkRequest receive = new ReceiveWorkRequest(2);
            receive.id(WorkId.of(WorkId.RECEIVE, i));
            receive.addSge(memory.segment(), memory.commandOffset(i), SubmissionQueueEntry.SIZE_BYTES, memory.lkey());
            if (memory.inCapsuleBytes() > 0) {
                receive.addSge(memory.segment(), memory.inCapsuleOffset(i), memory.inCapsuleBytes(), memory.lkey());
            }
            receives[i] = receive;
            if (i > 0) {
                receives[i - 1].next(receive);
            }
        }
    }

    QueuePair queuePair() {
        return queuePair;
    }

    /** The connection that was accepted with this queue. */
    void accepted(Connection connection) {
        this.connection = connection;
    }

    @Override
    public int qid() {
        return qid;
    }

    @Override
    public int receives() {
        return sizes.receives();
    }

    @Override
    public int maxQueueSize() {
        return lane.maxQueueSize();
    }

    QueueSizes sizes() {
        return sizes;
    }

    @Override
    public long lastCommandNanos() {
        return lastCommandNanos;
    }

    @Override
    public void execute(Runnable task) {
        lane.execute(task);
    }

    @Override
    public void connected(Controller controller, CommandSet commands, int entries, boolean reportsHead) {
        this.controller = controller;
        this.commands = commands;
        this.entries = entries;
        this.reportsHead = reportsHead;
        head %= entries;
    }

    // Completions.

    void onCompletion(WorkCompletion completion) {
        if (stage != Stage.OPEN) {
            return; // flushed
        }
        if (!completion.isSuccess()) {
            transportFailed(completion);
            return;
        }
        try {
            onSuccess(completion);
        } catch (RuntimeException e) {
            failed(e);
        }
    }

    /** A fault in here must cost the others on the lane nothing. */
    private void failed(RuntimeException e) {
        LOG.log(System.Logger.Level.ERROR, this + ": unexpected failure", e);
        lane.statistics().failed.increment();
        close("unexpected failure", true);
    }

    private void onSuccess(WorkCompletion completion) {
        int index = WorkId.index(completion.id());
        switch (WorkId.kind(completion.id())) {
            case WorkId.RECEIVE -> received(requests[index], completion.lengthBytes());
            case WorkId.RESPONSE -> {
                sender.responseDone(index);
                postIfNeeded();
            }
            default -> {
                if (sender.readDone(requests[index])) {
                    executeNow(requests[index]);
                }
                postIfNeeded();
            }
        }
    }

    /** What had to wait may be posted now. */
    private void postIfNeeded() {
        if (sender.canPost()) {
            lane.markDirty(this);
        }
    }

    private void transportFailed(WorkCompletion completion) {
        boolean flushed = completion.status() == WorkCompletionStatus.WORK_REQUEST_FLUSHED;
        if (!flushed) {
            lane.statistics().failed.increment();
            suspectMemory(completion);
        }
        String what = switch (WorkId.kind(completion.id())) {
            case WorkId.RECEIVE -> "receive";
            case WorkId.RESPONSE -> "response";
            default -> "RDMA READ of command " + requests[WorkId.index(completion.id())].commandId();
        };
        close(
                what + " failed: " + completion.status().words() + ", vendor error " + completion.vendorError(),
                !flushed);
    }

    /** Other queues must not run into memory that has vanished from under this one. */
    private void suspectMemory(WorkCompletion completion) {
        int index = WorkId.index(completion.id());
        DataBuffer buffer = switch (WorkId.kind(completion.id())) {
            case WorkId.READ -> requests[index].buffer();
            case WorkId.RESPONSE -> sender.buffer(index);
            default -> null;
        };
        if (buffer != null && buffer.mayVanish()) {
            if (completion.status() == WorkCompletionStatus.LOCAL_PROTECTION_ERROR) {
                buffer.vanished();
            } else {
                boolean _ = buffer.isLost(true);
            }
        }
    }

    private void received(Request request, int capsuleBytes) {
        lane.counters().add(TargetLane.COMMANDS, 1);
        lastCommandNanos = lane.nowNanos();
        if (capsuleBytes < SubmissionQueueEntry.SIZE_BYTES) {
            lane.statistics().failed.increment();
            close("a command capsule has " + capsuleBytes + " bytes, less than 64", true);
            return;
        }
        head = head + 1 == entries ? 0 : head + 1;
        request.begin(capsuleBytes);
        if (!request.hasValidFlags()) {
            request.fail(NvmeStatus.INVALID_FIELD | NvmeStatus.DNR, 1);
        } else {
            commands.prepare(request);
            if (!request.failed()) {
                request.checkSgl();
            }
        }
        if (request.failed()) {
            respond(request);
        } else if (request.direction() == DataDirection.NONE) {
            executeNow(request);
        } else if (request.hasInCapsuleData()) {
            if (request.wantsPeerMemory()) {
                lane.peerMemoryCounters().fellBack(PeerMemoryFallback.IN_CAPSULE);
            }
            executeNow(request);
        } else if (isReadOfZeroes(request)) {
            lane.borrowZeroes(request);
            executeNow(request);
        } else if (takePeerBuffer(request) || lane.takeBuffer(request)) {
            buffered(request);
        } else {
            request.state = RequestState.WAITING_FOR_BUFFER;
        }
    }

    /** Whether the request's data passes through peer memory. */
    private boolean takePeerBuffer(Request request) {
        Controller own = controller;
        return request.wantsPeerMemory()
                && own != null
                && lane.takePeerBuffer(request, own.peerMemory().get(request.nsid()));
    }

    private static boolean isReadOfZeroes(Request request) {
        Namespace namespace = request.namespace;
        return request.direction() == DataDirection.TO_HOST
                && namespace != null
                && namespace.backend().readsZeroes();
    }

    @Override
    public void buffered(Request request) {
        if (request.direction() == DataDirection.FROM_HOST) {
            request.state = RequestState.READING;
            sender.read(request);
            lane.markDirty(this);
        } else {
            executeNow(request);
        }
    }

    private void executeNow(Request request) {
        if (request.hasLostData(false)) {
            respond(request);
            return;
        }
        request.state = RequestState.EXECUTING;
        if (commands.execute(request)) {
            respond(request);
        } else if (request.state == RequestState.EXECUTING) {
            request.awaitsBackend = true;
            withBackends++;
        }
    }

    @Override
    public void backendCompleted(Request request) {
        lane.handBack(request);
    }

    @Override
    public void resume(Request request) {
        try {
            if (stage == Stage.OPEN && !commands.resume(request)) {
                return; // with the backend again
            }
        } catch (RuntimeException e) {
            failed(e);
        }
        request.awaitsBackend = false;
        withBackends--;
        respond(request);
    }

    @Override
    public void respond(Request request) {
        if (stage != Stage.OPEN) {
            drop(request);
            return;
        }
        if (request.hasLostData(request.failed())) {
            // The host may try again: the data then passes through system memory.
            lane.peerMemoryCounters().lost();
            request.fail(NvmeStatus.DATA_TRANSFER_ERROR);
        }
        request.state = RequestState.RESPONDING;
        sender.respond(request);
        lane.markDirty(this);
    }

    // Posting.

    /** Posts what the cycle has brought up. */
    void post() {
        if (stage != Stage.OPEN) {
            return;
        }
        sender.post();
    }

    /** Writes the completion queue entry of a request that has ended. */
    private void writeCompletion(Request request, MemorySegment segment, long offset) {
        int status = request.failed() ? recordError(request) : request.status();
        CompletionQueueEntry.write(
                segment, offset, request.result(), reportsHead ? head : 0xffff, qid, request.commandId(), status);
    }

    /** Counts a failed command and keeps it in the error log, if there is one; returns the status to send. */
    private int recordError(Request request) {
        int status = request.status();
        lane.counters().add(TargetLane.COMMAND_ERRORS, 1);
        if (LOG.isLoggable(System.Logger.Level.DEBUG)) {
            LOG.log(
                    System.Logger.Level.DEBUG,
                    this + ": " + CommandText.describe(request.capsule(), request.at(), qid == 0) + " failed: "
                            + NvmeStatus.describe(status));
        }
        Controller own = controller;
        if (own == null) {
            return status;
        }
        own.errorLog().record(request, status);
        return status | NvmeStatus.MORE;
    }

    // The end.

    /** Ends the queue at the end of the cycle; on the lane. */
    void close(String reason, boolean unexpected) {
        if (stage != Stage.OPEN) {
            return;
        }
        stage = Stage.CLOSING;
        if (unexpected) {
            WARNINGS.warning(this + " ends: " + reason);
        } else if (LOG.isLoggable(System.Logger.Level.DEBUG)) {
            LOG.log(System.Logger.Level.DEBUG, this + " ends: " + reason);
        }
        lane.closing(this);
    }

    @Override
    public void closeSoon(String reason) {
        lane.execute(() -> close(reason, false));
    }

    @Override
    public void onEstablished(Connection connection, ConnectionParameters peer) {
        // The queue has worked since it was accepted: the first command may come before this event.
    }

    @Override
    public void onRejected(Connection connection, int reason, byte[] privateData) {
        ended("connection rejected");
    }

    @Override
    public void onFailed(Connection connection, VerbsException cause) {
        ended("connection failed: " + cause.getMessage());
    }

    @Override
    public void onDisconnected(Connection connection) {
        ended("disconnected");
    }

    private void ended(String reason) {
        connectionEnded = true;
        close(reason, false);
    }

    /**
     * Takes the end of the queue as far as it goes.
     *
     * @return whether nothing of it is left
     */
    boolean progressClose(long nowNanos) {
        if (stage == Stage.CLOSING) {
            startDisconnect(nowNanos);
        }
        if (stage == Stage.DISCONNECTING && (connectionEnded || nowNanos - deadlineNanos >= 0)) {
            destroyQueuePair();
        }
        if (stage == Stage.DRAINING && withBackends == 0) {
            memory.close();
            stage = Stage.CLOSED;
        }
        return stage == Stage.CLOSED;
    }

    private void startDisconnect(long nowNanos) {
        stage = Stage.DISCONNECTING;
        Controller own = controller;
        if (own != null) {
            own.detach(this);
        }
        deadlineNanos = nowNanos + DISCONNECT_TIMEOUT_NANOS;
        if (connection == null) {
            connectionEnded = true;
        } else if (!connectionEnded) {
            connection.disconnect();
        }
    }

    /** From here on the device touches no buffer of this queue. */
    private void destroyQueuePair() {
        stage = Stage.DRAINING;
        if (connection != null) {
            connection.close();
        }
        queuePair.close();
        lane.completionQueues().release(completions, sizes.completions());
        sender.drop();
        for (Request request : requests) {
            if (request.state == RequestState.WAITING_FOR_BUFFER) {
                lane.cancelWait(request);
            }
            if (!request.awaitsBackend) {
                drop(request);
            }
        }
    }

    /** Ends a request whose response nobody waits for any more. */
    private void drop(Request request) {
        DataBuffer buffer = request.takeBuffer();
        if (buffer != null) {
            buffer.release();
        }
        request.state = RequestState.POSTED;
    }

    // For the lane.

    /** When something must happen, in {@link System#nanoTime}. */
    long nextDeadlineNanos() {
        Controller own = controller;
        if (stage != Stage.OPEN || own == null) {
            return deadlineNanos;
        }
        return qid == 0 ? own.keepAliveDeadlineNanos() : Agent.NO_DEADLINE;
    }

    /** The deadline has passed. */
    void onDeadline() {
        Controller own = controller;
        if (stage != Stage.OPEN) {
            return; // looked at while closing
        }
        if (own == null) {
            lane.statistics().failed.increment();
            close("no Connect command within " + CONNECT_TIMEOUT_NANOS / 1_000_000_000 + " s", true);
        } else {
            lane.statistics().keepAliveExpiries.increment();
            WARNINGS.warning(this + ": keep alive timeout expired");
            own.keepAliveExpired();
        }
    }

    /** Whether a request is under way that uses the namespace's backend. */
    boolean uses(Namespace namespace) {
        for (Request request : requests) {
            Namespace used = request.namespace;
            if (request.state != RequestState.POSTED && used != null && used.backend() == namespace.backend()) {
                return true;
            }
        }
        return false;
    }

    @Override
    public String toString() {
        Controller own = controller;
        Connection from = connection;
        return "queue " + qid
                + (own == null
                        ? ""
                        : " of controller " + own.cntlid() + " of "
                                + own.subsystem().nqn())
                + (from == null ? "" : " from " + AddressText.of(from.remoteAddress()));
    }
}

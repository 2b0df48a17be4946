package org.nvmf4j.target;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.RdmaPrivateData;
import org.nvmf4j.verbs.Agent;
import org.nvmf4j.verbs.CompletionHandler;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.ConnectionRequest;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.Lane;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkCompletion;

/**
 * The target's part of a lane: its queues, their data buffers and their deadlines. One duty cycle takes what backends and the device
 * have finished, gives buffers to those that wait, and posts what came of all that, queue by queue.
 *
 * <p>Everything belongs to the lane's thread except where a method says that it may be called from any.
 */
final class TargetLane implements Agent, CompletionHandler {
    static final int COMMANDS = 0;
    static final int COMMAND_ERRORS = 1;
    static final int BUFFER_WAITS = 2;
    static final int BUFFERS_IN_USE = 3;

    private static final System.Logger LOG = System.getLogger(TargetLane.class.getName());
    /** Deadlines may move without the lane being told, by no less than this: the granularity of the keep-alive timeout. */
    private static final long MAX_TIMER_NANOS = 1_000_000_000L;

    /** How long a lane waits at most while a backend is to be polled: less than a device's slow request takes. */
    private static final long POLL_NANOS = 50_000;

    private final Lane lane;
    private final int index;
    private final TargetPort port;
    private final CompletionQueues completionQueues;
    private final BufferPool pool;
    private final Counts counters = new Counts(4);
    private final PeerMemoryCounters peerMemoryCounters = new PeerMemoryCounters();
    private final BackendLanes backendLanes;
    private final List<TargetQueue> queues = new ArrayList<>();
    private final List<TargetQueue> dirty = new ArrayList<>();
    private final List<TargetQueue> closing = new ArrayList<>();
    private final List<Retirement> retiring = new ArrayList<>();
    private final List<PortPeerMemory> retiringPeerMemory = new ArrayList<>();
    private final RequestList waitingForBuffer = new RequestList();
    private final AtomicReference<@Nullable Request> handedBack = new AtomicReference<>();
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private @Nullable ZeroMemory zeroes;
    /** The thread that polls backends, while it does. */
    private @Nullable Thread polling;

    private long nowNanos = System.nanoTime();
    private long nextTimerNanos = nowNanos;
    private boolean started;
    private boolean shuttingDown;
    private volatile boolean over;

    private record Retirement(Namespace namespace, CompletableFuture<Void> done) {}

    /**
     * A lane that does not run yet.
     *
     * @param index among the lanes of the port
     */
    TargetLane(Lane lane, int index, TargetPort port) {
        this.lane = lane;
        this.index = index;
        this.port = port;
        this.completionQueues =
                new CompletionQueues(port.device(), lane.vector().index());
        this.backendLanes = new BackendLanes(lane.vector()::wakeUp);
        this.pool = new BufferPool(
                port.protectionDomain(),
                port.options().maxTransferBytes(),
                port.options().dataBufferBytes());
    }

    TargetPort port() {
        return port;
    }

    int index() {
        return index;
    }

    Device device() {
        return port.device();
    }

    ProtectionDomain protectionDomain() {
        return port.protectionDomain();
    }

    int maxQueueSize() {
        return port.maxQueueSize();
    }

    CompletionQueues completionQueues() {
        return completionQueues;
    }

    Counts counters() {
        return counters;
    }

    PeerMemoryCounters peerMemoryCounters() {
        return peerMemoryCounters;
    }

    TargetStatistics.Counters statistics() {
        return port.statistics();
    }

    ConnectCommands connectCommands(TargetQueue queue) {
        return new ConnectCommands(queue, port, backendLanes);
    }

    /** The time of this duty cycle. */
    long nowNanos() {
        return nowNanos;
    }

    /** Runs a task on the lane, or not at all if it has ended; from any thread. */
    void execute(Runnable task) {
        try {
            lane.execute(task);
        } catch (RejectedExecutionException e) {
            LOG.log(System.Logger.Level.DEBUG, "a task came after the end of its lane");
        }
    }

    /** Joins the lane's cycle; from any thread. */
    void start() {
        execute(() -> {
            pool.prepare();
            lane.add(this);
            started = true;
        });
    }

    // Connections.

    /** Answers a connection request whose private data is in order. */
    void accept(ConnectionRequest request, RdmaPrivateData.Request asked, QueueSizes sizes) {
        nowNanos = System.nanoTime();
        TargetQueue queue = shuttingDown ? null : makeQueue(asked.qid(), sizes);
        if (queue == null) {
            port.released(sizes);
            port.reject(request, RdmaPrivateData.NO_RESOURCES);
            return;
        }
        queues.add(queue);
        statistics().queues.increment();
        nextTimerNanos = nowNanos;
        try {
            queue.accepted(request.accept(
                    queue.queuePair(),
                    new ConnectionParameters(
                            new RdmaPrivateData.Accept(sizes.receives()).toBytes(), 0, sizes.reads(), 7, 7),
                    queue));
            statistics().accepted.increment();
        } catch (VerbsException e) {
            queue.close("not accepted: " + e.getMessage(), false);
        }
    }

    private @Nullable TargetQueue makeQueue(int qid, QueueSizes sizes) {
        try {
            return new TargetQueue(this, qid, sizes, nowNanos);
        } catch (VerbsException e) {
            LOG.log(System.Logger.Level.WARNING, "no resources for another queue: " + e.getMessage());
            return null;
        }
    }

    // The duty cycle.

    @Override
    public int doWork(long nowNanos) {
        this.nowNanos = nowNanos;
        int work = backendLanes.isEmpty() ? 0 : pollBackends();
        work += takeHandedBack();
        work += completionQueues.poll(this);
        if (!closing.isEmpty()) {
            work += progressClosing();
        }
        if (!waitingForBuffer.isEmpty()) {
            work += serveWaiting();
        }
        for (int i = 0; i < dirty.size(); i++) {
            TargetQueue queue = dirty.get(i);
            queue.dirty = false;
            queue.post();
        }
        dirty.clear();
        if (!retiring.isEmpty()) {
            work += checkRetiring();
        }
        if (!retiringPeerMemory.isEmpty()) {
            retiringPeerMemory.removeIf(memory -> port.peerMemories().giveBack(memory, this));
        }
        if (nowNanos - nextTimerNanos >= 0) {
            runTimers();
        }
        counters.set(BUFFERS_IN_USE, pool.taken() + peerMemoryCounters.inUse());
        if (shuttingDown && queues.isEmpty() && retiring.isEmpty()) {
            end();
        }
        return work;
    }

    @Override
    public long nextDeadlineNanos() {
        return backendLanes.hasOutstanding() ? nowNanos + POLL_NANOS : nextTimerNanos;
    }

    @Override
    public void onCompletion(WorkCompletion completion) {
        if (completion.context() instanceof TargetQueue queue) {
            queue.onCompletion(completion);
        }
    }

    /** The queue has something to post at the end of this cycle. */
    void markDirty(TargetQueue queue) {
        if (!queue.dirty) {
            queue.dirty = true;
            dirty.add(queue);
        }
    }

    // Backends.

    private int pollBackends() {
        polling = Thread.currentThread();
        try {
            return backendLanes.poll(nowNanos);
        } finally {
            polling = null;
        }
    }

    /** A backend has ended a request; from any thread. */
    void handBack(Request request) {
        Request top;
        do {
            top = handedBack.get();
            request.nextCompleted = top;
        } while (!handedBack.compareAndSet(top, request));
        if (top == null && polling != Thread.currentThread()) { // no other thread ever reads itself there
            lane.vector().wakeUp();
        }
    }

    /** What backends have handed back, in the order in which they did. */
    private int takeHandedBack() {
        if (handedBack.get() == null) {
            return 0;
        }
        Request newest = handedBack.getAndSet(null);
        Request oldest = null;
        while (newest != null) {
            Request before = newest.nextCompleted;
            newest.nextCompleted = oldest;
            oldest = newest;
            newest = before;
        }
        int count = 0;
        while (oldest != null) {
            Request request = oldest;
            oldest = request.nextCompleted;
            request.nextCompleted = null;
            request.owner().resume(request);
            count++;
        }
        return count;
    }

    // Data buffers.

    /** Gives the request a buffer of peer memory, or counts why not. */
    boolean takePeerBuffer(Request request, @Nullable PeerPlacement placement) {
        PeerMemoryFallback why = PeerMemoryFallback.NOT_SELECTED;
        if (placement != null) {
            PortPeerMemory memory = placement.memory();
            PeerBuffers buffers = memory == null ? null : memory.at(this);
            why = buffers == null ? placement.otherwise() : buffers.lendTo(request);
        }
        if (why == null) {
            return true;
        }
        peerMemoryCounters.fellBack(why);
        return false;
    }

    /** Gives the request a buffer, or a place in the queue of those that wait for one. */
    boolean takeBuffer(Request request) {
        if (waitingForBuffer.isEmpty()) {
            DataBuffer buffer = pool.take(request.transferBytes());
            if (buffer != null) {
                request.buffer(buffer);
                return true;
            }
        }
        counters.add(BUFFER_WAITS, 1);
        waitingForBuffer.add(request);
        return false;
    }

    void cancelWait(Request request) {
        waitingForBuffer.remove(request);
    }

    private int serveWaiting() {
        int served = 0;
        while (true) {
            Request request = waitingForBuffer.first();
            if (request == null) {
                return served;
            }
            DataBuffer buffer = pool.take(request.transferBytes());
            if (buffer == null) {
                return served;
            }
            waitingForBuffer.remove(request);
            request.buffer(buffer);
            request.owner().buffered(request);
            served++;
        }
    }

    /** Lends the request memory that is zero and stays so. */
    void borrowZeroes(Request request) {
        ZeroMemory memory = zeroes;
        if (memory == null) {
            try {
                memory = new ZeroMemory(port.protectionDomain(), port.options().maxTransferBytes());
            } catch (VerbsException e) {
                throw new IllegalStateException("no memory region for zeroes: " + e.getMessage(), e);
            }
            zeroes = memory;
        }
        memory.lendTo(request);
    }

    // The end of queues and namespaces.

    /** The queue has begun to end, which goes on in the next cycle at the latest. */
    void closing(TargetQueue queue) {
        closing.add(queue);
        nextTimerNanos = nowNanos;
    }

    private int progressClosing() {
        int work = 0;
        for (int i = closing.size() - 1; i >= 0; i--) {
            TargetQueue queue = closing.get(i);
            if (queue.progressClose(nowNanos)) {
                closing.remove(i);
                queues.remove(queue);
                statistics().queues.decrement();
                port.released(queue.sizes());
                work++;
            }
        }
        nextTimerNanos = nowNanos;
        return work;
    }

    /** The namespace is not to be found any more: completes when no request uses it; from any thread. */
    CompletableFuture<Void> retire(Namespace namespace) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        if (over) {
            done.complete(null); // the caller may have ended a lane of its own
            return done;
        }
        try {
            lane.execute(() -> {
                if (over) {
                    done.complete(null);
                } else {
                    retiring.add(new Retirement(namespace, done));
                }
            });
        } catch (RejectedExecutionException e) {
            done.complete(null);
        }
        return done;
    }

    /** Nobody wants the peer memory any more: the lane's part of it goes back with its last buffer; from any thread. */
    void retire(PortPeerMemory memory) {
        execute(() -> retiringPeerMemory.add(memory));
    }

    private int checkRetiring() {
        int work = 0;
        for (int i = retiring.size() - 1; i >= 0; i--) {
            Retirement retirement = retiring.get(i);
            if (queues.stream().noneMatch(queue -> queue.uses(retirement.namespace))) {
                retiring.remove(i);
                backendLanes.close(retirement.namespace.backend());
                retirement.done.complete(null);
                work++;
            }
        }
        return work;
    }

    private void runTimers() {
        long next = nowNanos + MAX_TIMER_NANOS;
        for (int i = 0; i < queues.size(); i++) {
            TargetQueue queue = queues.get(i);
            long deadline = queue.nextDeadlineNanos();
            if (deadline == NO_DEADLINE) {
                continue;
            }
            if (nowNanos - deadline >= 0) {
                queue.onDeadline();
            } else if (deadline - next < 0) {
                next = deadline;
            }
        }
        nextTimerNanos = next;
    }

    /** Ends every queue and then the lane's part in the target; from any thread. */
    CompletableFuture<Void> shutDown() {
        try {
            lane.execute(() -> {
                shuttingDown = true;
                for (TargetQueue queue : List.copyOf(queues)) {
                    queue.close("target ends", false);
                }
                if (!started) {
                    end();
                }
            });
        } catch (RejectedExecutionException e) {
            ended.completeExceptionally(new IllegalStateException("a lane was closed before the target", e));
        }
        return ended;
    }

    private void end() {
        backendLanes.close();
        over = true;
        lane.remove(this);
        try {
            completionQueues.close();
            pool.close();
            if (zeroes != null) {
                zeroes.close();
            }
            ended.complete(null);
        } catch (RuntimeException e) {
            ended.completeExceptionally(e);
        }
    }
}

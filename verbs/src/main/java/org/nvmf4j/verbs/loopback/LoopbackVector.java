package org.nvmf4j.verbs.loopback;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jctools.queues.varhandle.MpscUnboundedVarHandleArrayQueue;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.CompletionVector;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.CompletionRing;

/**
 * A vector: the state of one lane, and the mailbox by which other lanes reach it. In the mailbox are doorbells (a queue pair that has
 * to look at its peer, at most once each) and the connection manager's messages (tasks).
 */
final class LoopbackVector implements CompletionVector {
    private static final VarHandle BUSY;

    static {
        try {
            BUSY = MethodHandles.lookup().findVarHandle(LoopbackVector.class, "busy", Thread.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private static final int MAILBOX_CHUNK = 1024;
    private static final int MAX_QUEUE_PAIR_NUMBER = 0xff_ffff;

    private final LoopbackDevice device;
    private final int index;
    private final MpscUnboundedVarHandleArrayQueue<Object> mailbox =
            new MpscUnboundedVarHandleArrayQueue<>(MAILBOX_CHUNK);
    private final Map<Integer, LoopbackQueuePair> queuePairs = new HashMap<>();
    private final Set<LoopbackConnection> connections = new LinkedHashSet<>();
    private final List<CompletionRing> rings = new ArrayList<>();
    private final List<Timer> timers = new ArrayList<>();
    private long earliestNanos;

    /** Queue pairs with something to do that no other lane tells of, and those of the present cycle. */
    private List<LoopbackQueuePair> scheduled = new ArrayList<>();

    private List<LoopbackQueuePair> working = new ArrayList<>();

    /** The thread that is in {@link #progress}, makes a part or shuts down. */
    @SuppressWarnings("UnusedVariable") // used through BUSY
    private volatile @Nullable Thread busy;

    private volatile boolean closed;
    private volatile @Nullable Thread parked;
    private volatile boolean wanted;

    LoopbackVector(LoopbackDevice device, int index) {
        this.device = device;
        this.index = index;
    }

    LoopbackDevice device() {
        return device;
    }

    @Override
    public int index() {
        return index;
    }

    /** Makes a part of this vector. */
    interface Creation<T> {
        T create() throws VerbsException;
    }

    /** Makes a part of this vector on its lane, in or beside its cycle, but not while another thread shuts it down. */
    <T> T create(Creation<T> creation) throws VerbsException {
        Thread self = Thread.currentThread();
        boolean inHandler = enter(self);
        try {
            if (closed) {
                throw new VerbsException("the device is closed");
            }
            return creation.create();
        } finally {
            if (!inHandler) {
                BUSY.setRelease(this, null);
            }
        }
    }

    /** Waits for a cycle that is running on another thread; returns whether this one is in it already. */
    private boolean enter(Thread self) {
        boolean inHandler = busy == self;
        while (!inHandler && !BUSY.compareAndSet(this, null, self)) {
            Thread.onSpinWait();
        }
        return inHandler;
    }

    CompletionRing newRing(int capacity) {
        CompletionRing ring = new CompletionRing(this, capacity, rings::remove);
        rings.add(ring);
        return ring;
    }

    /** Numbers of one device differ by vector in their low digits, so that each vector finds a free one by itself. */
    int uniqueNumber(AtomicInteger next) throws VerbsException {
        for (int i = 0; i < MAX_QUEUE_PAIR_NUMBER; i++) {
            int number = Math.floorMod(next.getAndIncrement(), MAX_QUEUE_PAIR_NUMBER - 1) + 2;
            int vectors = device.attributes().vectors();
            number = number - number % vectors + index;
            if (number > 1 && number <= MAX_QUEUE_PAIR_NUMBER && !queuePairs.containsKey(number)) {
                return number;
            }
        }
        throw new VerbsException("no queue pair number is free");
    }

    void add(LoopbackQueuePair queuePair) {
        queuePairs.put(queuePair.number(), queuePair);
    }

    void remove(LoopbackQueuePair queuePair) {
        queuePairs.remove(queuePair.number(), queuePair);
    }

    void add(LoopbackConnection connection) {
        connections.add(connection);
    }

    void remove(LoopbackConnection connection) {
        connections.remove(connection);
    }

    /** Has the next cycle {@linkplain LoopbackQueuePair#work run} a queue pair of this vector; on its lane. */
    void schedule(LoopbackQueuePair queuePair) {
        scheduled.add(queuePair);
    }

    /** Runs a task on this vector's lane; from any thread. False if the vector is closed, and then it does not run. */
    boolean send(Runnable task) {
        if (closed) {
            return false;
        }
        post(task);
        return true;
    }

    /** Has this lane look at one of its queue pairs; from any thread, not again until it did. */
    void ring(LoopbackQueuePair queuePair) {
        post(queuePair);
    }

    private void post(Object message) {
        mailbox.offer(message);
        // Either this sees the waiter, or the waiter sees the message: see awaitWork.
        Thread waiter = parked;
        if (waiter != null) {
            LockSupport.unpark(waiter);
        }
    }

    @Override
    public int progress() {
        Thread self = Thread.currentThread();
        if (closed || !BUSY.compareAndSet(this, null, self)) {
            if (busy == self) {
                throw new IllegalStateException("progress must not be called from within a handler");
            }
            return 0;
        }
        try {
            return cycle();
        } finally {
            BUSY.setRelease(this, null);
        }
    }

    private int cycle() {
        int work = 0;
        for (Object message = mailbox.relaxedPoll(); message != null; message = mailbox.relaxedPoll()) {
            work++;
            if (message instanceof LoopbackQueuePair queuePair) {
                queuePair.answerDoorbell();
            } else {
                ((Runnable) message).run();
            }
        }
        if (!timers.isEmpty()) {
            work += runTimers(System.nanoTime());
        }
        work += runScheduled();
        for (int i = 0; i < rings.size(); i++) {
            if (rings.get(i).failQueuePairsIfOverflowed()) {
                work++;
            }
        }
        return work;
    }

    private int runScheduled() {
        List<LoopbackQueuePair> now = scheduled;
        if (now.isEmpty()) {
            return 0;
        }
        scheduled = working;
        working = now;
        int work = 0;
        for (int i = 0; i < now.size(); i++) {
            work += now.get(i).work();
        }
        now.clear();
        return work;
    }

    private int runTimers(long nowNanos) {
        if (nowNanos - earliestNanos < 0) {
            return 0;
        }
        int work = 0;
        for (int i = timers.size() - 1; i >= 0; i--) {
            if (i >= timers.size()) {
                continue; // an action shut the vector down
            }
            Timer timer = timers.get(i);
            if (!timer.armed || nowNanos - timer.dueNanos >= 0) {
                timers.remove(i);
                timer.listed = false;
            }
            if (timer.armed && nowNanos - timer.dueNanos >= 0) {
                work++;
                timer.armed = false;
                timer.action.run();
            }
        }
        for (int i = 0; i < timers.size(); i++) {
            noteDeadline(timers.get(i).dueNanos, i == 0);
        }
        return work;
    }

    private void noteDeadline(long dueNanos, boolean first) {
        if (first || dueNanos - earliestNanos < 0) {
            earliestNanos = dueNanos;
        }
    }

    @Override
    public void awaitWork(long timeoutNanos) {
        parked = Thread.currentThread();
        try {
            if (!wanted && mailbox.isEmpty() && scheduled.isEmpty()) {
                long wait = timeoutNanos;
                if (!timers.isEmpty()) {
                    wait = Math.min(wait, earliestNanos - System.nanoTime());
                }
                if (wait > 0) {
                    LockSupport.parkNanos(this, wait);
                }
            }
        } finally {
            parked = null;
            wanted = false;
        }
    }

    @Override
    public void wakeUp() {
        wanted = true;
        Thread waiter = parked;
        if (waiter != null) {
            LockSupport.unpark(waiter);
        }
    }

    /** Ends everything on this vector; from any thread, waits for a cycle that is running on another. */
    void shutDown() {
        boolean inHandler = enter(Thread.currentThread());
        try {
            closed = true;
            List.copyOf(connections).forEach(LoopbackConnection::close);
            List.copyOf(queuePairs.values()).forEach(LoopbackQueuePair::close);
            List.copyOf(rings).forEach(CompletionRing::close);
            timers.clear();
        } finally {
            if (!inHandler) {
                BUSY.setRelease(this, null);
            }
        }
        wakeUp();
    }

    /** Runs something on this lane after a while; belongs to the lane, allocates nothing when armed. */
    final class Timer {
        private final Runnable action;
        private long dueNanos;
        private boolean armed;
        private boolean listed;

        Timer(Runnable action) {
            this.action = action;
        }

        boolean isArmed() {
            return armed;
        }

        void arm(long delayNanos) {
            dueNanos = System.nanoTime() + delayNanos;
            armed = true;
            noteDeadline(dueNanos, timers.isEmpty());
            if (!listed) {
                listed = true;
                timers.add(this);
            }
        }

        void cancel() {
            armed = false;
        }
    }
}

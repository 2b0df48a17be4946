package org.nvmf4j.verbs.loopback;

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
import org.nvmf4j.verbs.spi.DeviceChecks;
import org.nvmf4j.verbs.spi.VectorGate;
import org.nvmf4j.verbs.spi.VectorTimers;

/**
 * A vector: the state of one lane, and the mailbox by which other lanes reach it. In the mailbox are doorbells (a queue pair that has
 * to look at its peer, at most once each) and the connection manager's messages (tasks).
 */
final class LoopbackVector implements CompletionVector {
    private static final int MAILBOX_CHUNK = 1024;
    private static final int MAX_QUEUE_PAIR_NUMBER = 0xff_ffff;

    private final LoopbackDevice device;
    private final int index;
    private final MpscUnboundedVarHandleArrayQueue<Object> mailbox =
            new MpscUnboundedVarHandleArrayQueue<>(MAILBOX_CHUNK);
    private final Map<Integer, LoopbackQueuePair> queuePairs = new HashMap<>();
    private final Set<LoopbackConnection> connections = new LinkedHashSet<>();
    private final List<CompletionRing> rings = new ArrayList<>();
    private final VectorTimers timers = new VectorTimers();
    private final VectorGate gate = new VectorGate();

    /** Queue pairs with something to do that no other lane tells of, and those of the present cycle. */
    private List<LoopbackQueuePair> scheduled = new ArrayList<>();

    private List<LoopbackQueuePair> working = new ArrayList<>();

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
        boolean entered = gate.enter(Thread::onSpinWait);
        try {
            DeviceChecks.open(gate.isClosed());
            return creation.create();
        } finally {
            if (entered) {
                gate.leave();
            }
        }
    }

    VectorTimers timers() {
        return timers;
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
        if (gate.isClosed()) {
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
        if (!gate.tryEnter()) {
            return 0;
        }
        try {
            return cycle();
        } finally {
            gate.leave();
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
        work += timers.run();
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

    @Override
    public void awaitWork(long timeoutNanos) {
        parked = Thread.currentThread();
        try {
            if (!wanted && mailbox.isEmpty() && scheduled.isEmpty()) {
                long wait = timers.remainingNanos(timeoutNanos);
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
        gate.close();
        boolean entered = gate.enter(Thread::onSpinWait);
        try {
            List.copyOf(connections).forEach(LoopbackConnection::close);
            List.copyOf(queuePairs.values()).forEach(LoopbackQueuePair::close);
            List.copyOf(rings).forEach(CompletionRing::close);
            timers.clear();
        } finally {
            if (entered) {
                gate.leave();
            }
        }
        wakeUp();
    }
}

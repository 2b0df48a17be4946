package org.nvmf4j.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jctools.queues.varhandle.MpscUnboundedVarHandleArrayQueue;
import org.nvmf4j.ibverbs.RdmaCore.Function;
import org.nvmf4j.linux.DescriptorWaiter;
import org.nvmf4j.linux.LinuxException;
import org.nvmf4j.verbs.CompletionQueue;
import org.nvmf4j.verbs.CompletionVector;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.CompletionRing;
import org.nvmf4j.verbs.spi.VectorGate;
import org.nvmf4j.verbs.spi.VectorTimers;

/**
 * A vector: the state of one lane. Its completion queues share one completion channel, which wakes the lane when it waits; while it
 * works, the queues are polled and no event is asked for. Events of connections come as tasks from the {@link EventThread}.
 */
final class IbVerbsVector implements CompletionVector {
    private static final int MAILBOX_CHUNK = 64;

    private final IbVerbsDevice device;
    private final RdmaCore core;
    private final int index;
    private final long channel;
    private final DescriptorWaiter waiter;
    private final MpscUnboundedVarHandleArrayQueue<Runnable> mailbox =
            new MpscUnboundedVarHandleArrayQueue<>(MAILBOX_CHUNK);
    private final QueuePairTable queuePairs = new QueuePairTable();
    private final List<HardwareQueue> queues = new ArrayList<>();
    private final List<IbVerbsSharedReceives> shared = new ArrayList<>();
    private final Set<IbVerbsConnection> connections = new LinkedHashSet<>();
    private final VectorTimers timers = new VectorTimers();
    private final VectorGate gate = new VectorGate();
    private final MemorySegment eventRoom = Arena.ofAuto().allocate(16, 8);
    private int nextSharedKey;

    IbVerbsVector(IbVerbsDevice device, RdmaCore core, int index) throws VerbsException {
        this.device = device;
        this.core = core;
        this.index = index;
        channel = core.pointer(Function.IBV_CREATE_COMP_CHANNEL, device.context());
        try {
            int fd = RdmaCore.intAt(channel + Abi.IbvCompChannel.FD);
            DescriptorWaiter.setNonBlocking(fd);
            waiter = new DescriptorWaiter(fd);
        } catch (LinuxException e) {
            var _ = core.status(Function.IBV_DESTROY_COMP_CHANNEL, channel, 0, 0, 0);
            throw new VerbsException("cannot wait for completions: " + e.getMessage(), e);
        }
    }

    IbVerbsDevice device() {
        return device;
    }

    @Override
    public int index() {
        return index;
    }

    QueuePairTable queuePairs() {
        return queuePairs;
    }

    VectorTimers timers() {
        return timers;
    }

    CompletionQueue createQueue(int capacity) throws VerbsException {
        HardwareQueue queue = new HardwareQueue(this, core, channel, capacity);
        queues.add(queue);
        return queue.ring();
    }

    /** What is behind a ring of this vector. */
    HardwareQueue queueOf(CompletionQueue ring) {
        for (HardwareQueue queue : queues) {
            if (queue.ring() == ring) {
                return queue;
            }
        }
        throw new IllegalArgumentException("the completion queues are of another device");
    }

    IbVerbsSharedReceives createSharedReceives(IbVerbsDomain domain, int capacity, int maxSge) throws VerbsException {
        IbVerbsSharedReceives created =
                new IbVerbsSharedReceives(this, core, domain, nextSharedKey++ & Integer.MAX_VALUE, capacity, maxSge);
        shared.add(created);
        return created;
    }

    void remove(IbVerbsSharedReceives closed) {
        shared.remove(closed);
    }

    /** A receive that was posted on a shared queue has completed; gives the user's id of it. */
    long completeShared(long id) {
        for (int i = 0; i < shared.size(); i++) {
            if (shared.get(i).key() == QueuePairTable.keyOf(id)) {
                return shared.get(i).complete(QueuePairTable.sharedSlot(id));
            }
        }
        return 0; // of a queue that is closed, whose queue pairs are so too
    }

    void remove(HardwareQueue queue) {
        queues.remove(queue);
    }

    void add(IbVerbsConnection connection) {
        connections.add(connection);
    }

    void remove(IbVerbsConnection connection) {
        connections.remove(connection);
    }

    /** Runs a task on this vector's lane; from any thread. False if the vector is closed, and then it may not run. */
    boolean send(Runnable task) {
        if (gate.isClosed()) {
            return false;
        }
        mailbox.offer(task);
        waiter.wake();
        return true;
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
        for (Runnable task = mailbox.relaxedPoll(); task != null; task = mailbox.relaxedPoll()) {
            work++;
            task.run();
        }
        work += timers.run();
        for (int i = 0; i < queues.size(); i++) {
            HardwareQueue queue = queues.get(i);
            work += queue.fetch();
            if (queue.ring().failQueuePairsIfOverflowed()) {
                work++;
            }
        }
        return work;
    }

    @Override
    public void awaitWork(long timeoutNanos) {
        if (!mailbox.isEmpty() || !gate.tryEnter()) {
            return;
        }
        try {
            for (int i = 0; i < queues.size() && !device.isRemoved(); i++) {
                queues.get(i).askForEvent();
            }
            // What completed before an event was asked for makes none.
            int there = 0;
            for (int i = 0; i < queues.size(); i++) {
                there += queues.get(i).fetch();
            }
            if (device.isRemoved()) {
                waiter.ignoreDescriptors(); // its channel is in error for good, which would end every wait
            }
            if (there == 0) {
                waiter.await(timers.remainingNanos(timeoutNanos));
            }
            takeEvents();
        } catch (LinuxException e) {
            throw new IllegalStateException("cannot wait for completions: " + e.getMessage(), e);
        } finally {
            gate.leave();
        }
    }

    private void takeEvents() {
        long room = eventRoom.address();
        while (core.status(Function.IBV_GET_CQ_EVENT, channel, room, room + Long.BYTES, 0) == 0) {
            var _ = core.status(Function.IBV_ACK_CQ_EVENTS, RdmaCore.longAt(room), 1, 0, 0);
        }
    }

    @Override
    public void wakeUp() {
        waiter.wake();
    }

    /** Ends everything on this vector; from any thread, waits for a cycle that is running on another. */
    void shutDown() {
        gate.close();
        boolean entered = gate.enter(waiter::wake);
        try {
            List.copyOf(connections).forEach(IbVerbsConnection::close);
            queuePairs.closeAll();
            List.copyOf(shared).forEach(IbVerbsSharedReceives::close);
            takeEvents();
            List.copyOf(queues).forEach(queue -> queue.ring().close());
            timers.clear();
            mailbox.clear();
            device.warn(
                    Function.IBV_DESTROY_COMP_CHANNEL,
                    core.status(Function.IBV_DESTROY_COMP_CHANNEL, channel, 0, 0, 0));
        } finally {
            if (entered) {
                gate.leave();
            }
        }
        waiter.wake();
        waiter.close();
    }

    /** A queue of the device that lost completions; on this lane. */
    void onOverflow(long queue) {
        for (int i = 0; i < queues.size(); i++) {
            if (queues.get(i).pointer() == queue) {
                queuePairs.abandonAllOn(queues.get(i));
            }
        }
    }

    /** A shared receive queue that the device gave up; on this lane. */
    void onSharedReceivesFatal(long queue) {
        for (int i = 0; i < shared.size(); i++) {
            if (shared.get(i).pointer() == queue) {
                queuePairs.failAllOn(shared.get(i));
            }
        }
    }

    /** The device is gone; on this lane. */
    void onRemoved() {
        queuePairs.abandonAll();
        List.copyOf(connections).forEach(IbVerbsConnection::onRemoved);
    }

    /** A queue pair that the device gave up, by its number; on this lane. */
    void onFatal(int queuePairNumber) {
        IbVerbsQueuePair pair = queuePairs.find(queuePairNumber);
        if (pair != null) {
            pair.toError();
        }
    }

    /** What users poll of a queue of the device. */
    CompletionRing newRing(int capacity, HardwareQueue queue) {
        return new CompletionRing(this, capacity, ring -> queue.destroy());
    }
}

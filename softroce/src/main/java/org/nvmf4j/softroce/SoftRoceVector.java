package org.nvmf4j.softroce;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.jctools.queues.varhandle.MpscUnboundedVarHandleArrayQueue;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.linux.UdpSocket;
import org.nvmf4j.linux.UdpWaiter;
import org.nvmf4j.verbs.CompletionVector;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.CompletionRing;
import org.nvmf4j.verbs.spi.VectorGate;

/**
 * One vector: a socket, the queue pairs whose packets arrive at it, and the duty cycle that drives them. Everything here belongs to
 * the vector's lane but {@link #execute} and {@link #wakeUp}, by which other lanes and threads reach it.
 */
final class SoftRoceVector implements CompletionVector {
    private static final System.Logger LOG = System.getLogger(SoftRoceVector.class.getName());
    private static final int MAILBOX_CHUNK = 256;
    /** What one queue pair may send before the next has its turn: as much as one socket message holds. */
    private static final int TURN_BYTES = UdpSocket.MAX_DATAGRAM_BYTES;
    /** What one cycle sends at most before it looks for acknowledgements again. */
    private static final int CYCLE_BYTES = 512 << 10;

    private final SoftRoceDevice device;
    private final int index;
    private final UdpSocket socket;
    private final UdpWaiter waiter;
    private final SoftRoceStatistics statistics = new SoftRoceStatistics();
    private final TransmitBatch batch;
    private final Receiver receiver;
    private final QueuePairNumbers numbers;
    private final MpscUnboundedVarHandleArrayQueue<Runnable> mailbox =
            new MpscUnboundedVarHandleArrayQueue<>(MAILBOX_CHUNK);
    private final NumberTable<SoftRoceQueuePair> queuePairs = new NumberTable<>();
    private final DeadlineQueue deadlines = new DeadlineQueue();
    /** Queue pairs that want to send, each once, in the order of their turns. */
    private final ArrayDeque<SoftRoceQueuePair> senders = new ArrayDeque<>();

    private final List<CompletionRing> rings = new ArrayList<>();
    private final List<SoftRoceConnection> connections = new ArrayList<>();

    /** Vector 0's alone. */
    private @Nullable ConnectionService connectionService;

    /** Replaced whole, so that metrics may be read from any thread. */
    private volatile List<SoftRoceQueuePair> countedQueuePairs = List.of();

    private final VectorGate gate = new VectorGate();

    SoftRoceVector(SoftRoceDevice device, int index, UdpSocket socket, RandomGenerator random) throws IOException {
        this.device = device;
        this.index = index;
        this.socket = socket;
        this.waiter = UdpWaiter.of(List.of(socket));
        this.numbers = new QueuePairNumbers(index, device.vectorNumberBits(), random);
        Arena arena = Arena.ofAuto(); // freed with the device; a shared arena costs on each access
        this.batch = new TransmitBatch(socket, index, device.faults(), device.tap(), statistics, arena);
        this.receiver = new Receiver(this, socket, device.tap(), arena);
    }

    /** Makes this the vector that runs connection management. */
    void connectionService(ConnectionService service) {
        connectionService = service;
    }

    SoftRoceDevice device() {
        return device;
    }

    @Override
    public int index() {
        return index;
    }

    SoftRoceStatistics statistics() {
        return statistics;
    }

    // ------------------------------------------------------------------------------------------ the duty cycle

    @Override
    public int progress() {
        if (!gate.tryEnter()) {
            return 0;
        }
        try {
            return cycle(System.nanoTime());
        } finally {
            gate.leave();
        }
    }

    /**
     * What was posted leaves first; what arrives is answered by the next cycle, after the user has seen its completions. Handlers
     * run in the mailbox's tasks alone, and may close the device.
     */
    private int cycle(long nowNanos) {
        int work = runMailbox();
        if (gate.isClosed()) {
            return work;
        }
        work += transmit(nowNanos);
        work += receiver.receive(nowNanos);
        work += runTimers(nowNanos);
        work += runMailbox(); // events come before the completions that follow them
        for (int i = 0; i < rings.size(); i++) {
            if (rings.get(i).failQueuePairsIfOverflowed()) {
                work++;
            }
        }
        return work;
    }

    private int runMailbox() {
        int work = 0;
        for (Runnable task = mailbox.relaxedPoll(); task != null; task = mailbox.relaxedPoll()) {
            task.run();
            work++;
        }
        return work;
    }

    private int transmit(long nowNanos) {
        ConnectionService service = connectionService;
        boolean hasMads = service != null && service.wantsTransmit();
        if (senders.isEmpty() && !hasMads && batch.isEmpty() && !batch.isHolding()) {
            return 0;
        }
        flush(); // what the socket's send buffer had no room for
        if (batch.isEmpty()) {
            batch.start();
            fill(nowNanos);
            if (service != null) {
                service.transmit(batch);
            }
            flush();
        }
        return 1;
    }

    private void flush() {
        try {
            batch.flush();
        } catch (IOException | RuntimeException e) {
            // Memory that a waiting packet names is gone. The packets are lost, as on a network.
            LOG.log(System.Logger.Level.ERROR, "cannot send on " + socket.localAddress(), e);
            batch.discardWaiting();
        }
    }

    private void fill(long nowNanos) {
        for (SoftRoceQueuePair sender = senders.peekFirst();
                sender != null && batch.hasRoom() && batch.bytes() < CYCLE_BYTES;
                sender = senders.peekFirst()) {
            senders.removeFirst();
            sender.listed(false);
            PeerPath path = sender.path();
            if (path != null) {
                batch.turn(path, TURN_BYTES);
                send(sender, nowNanos);
            }
        }
    }

    private void send(SoftRoceQueuePair sender, long nowNanos) {
        try {
            sender.rc().pollTransmit(batch, nowNanos);
        } catch (RuntimeException e) {
            fail(sender, e);
        }
        settle(sender);
    }

    private int runTimers(long nowNanos) {
        int work = 0;
        while (deadlines.isDue(nowNanos)) {
            SoftRoceQueuePair queuePair = (SoftRoceQueuePair) deadlines.removeFirst();
            if (queuePair.rc().nextDeadlineNanos() <= nowNanos) {
                queuePair.rc().onTimeout(nowNanos);
                work++;
            }
            settle(queuePair);
        }
        ConnectionService service = connectionService;
        return service == null ? work : work + service.work(nowNanos);
    }

    /** Takes note of what a queue pair wants after something happened to it. */
    void settle(SoftRoceQueuePair queuePair) {
        if (!queuePair.isListed() && queuePair.rc().wantsTransmit()) {
            queuePair.listed(true);
            senders.addLast(queuePair);
        }
        long deadlineNanos = queuePair.rc().nextDeadlineNanos();
        if (deadlineNanos != Long.MAX_VALUE) {
            deadlines.schedule(queuePair, deadlineNanos);
        }
    }

    /** A queue pair whose memory turns out to be gone ends; the others go on. */
    void fail(SoftRoceQueuePair queuePair, RuntimeException cause) {
        LOG.log(
                System.Logger.Level.ERROR,
                "queue pair " + queuePair.number() + " fails: is memory that it uses no longer there?",
                cause);
        queuePair.rc().toError();
    }

    // ------------------------------------------------------------------------------------------ waiting

    @Override
    public void awaitWork(long timeoutNanos) {
        if (!gate.tryEnter()) {
            return;
        }
        try {
            if (!hasWork()) {
                long waitNanos = Math.min(timeoutNanos, remainingNanos(System.nanoTime()));
                if (waitNanos > 0) {
                    flushTap();
                    waiter.await(waitNanos, !batch.isEmpty());
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot wait for " + socket.localAddress(), e);
        } finally {
            gate.leave();
        }
    }

    private void flushTap() {
        PacketTap tap = device.tap();
        if (tap != null) {
            tap.flush();
        }
    }

    /** Whether the next cycle has something to do already, other than to wait for room in the socket. */
    private boolean hasWork() {
        ConnectionService service = connectionService;
        boolean wantsTransmit = !senders.isEmpty() || batch.isHolding() || (service != null && service.wantsTransmit());
        return !mailbox.isEmpty() || (wantsTransmit && batch.isEmpty());
    }

    private long remainingNanos(long nowNanos) {
        long remaining = deadlines.remainingNanos(nowNanos);
        ConnectionService service = connectionService;
        return service == null ? remaining : Math.min(remaining, service.remainingNanos(nowNanos));
    }

    @Override
    public void wakeUp() {
        waiter.wake();
    }

    /** Has the lane run a task; from any thread. In the end, when the lane runs no more, the task may be left out. */
    void execute(Runnable task) {
        mailbox.offer(task);
        waiter.wake();
    }

    // ------------------------------------------------------------------------------------------ what hangs on the
    // vector

    CompletionRing createRing(int capacity) {
        CompletionRing ring = new CompletionRing(this, capacity, rings::remove);
        rings.add(ring);
        return ring;
    }

    int newQueuePairNumber() throws VerbsException {
        return numbers.take(queuePairs);
    }

    @Nullable
    SoftRoceQueuePair find(int number) {
        return queuePairs.get(number);
    }

    void add(SoftRoceQueuePair queuePair) {
        queuePairs.add(queuePair.number(), queuePair);
        countedQueuePairs = List.copyOf(queuePairs.values());
    }

    /** Forgets a destroyed queue pair; no packet in the batch names its memory when this returns. */
    void remove(SoftRoceQueuePair queuePair) {
        queuePairs.remove(queuePair.number());
        deadlines.remove(queuePair);
        if (queuePair.isListed()) {
            senders.remove(queuePair);
        }
        batch.discardWaiting();
        numbers.giveBack(queuePair.number());
        countedQueuePairs = List.copyOf(queuePairs.values());
        statistics.add(queuePair.rc().statistics());
    }

    Receiver receiver() {
        return receiver;
    }

    void add(SoftRoceConnection connection) {
        connections.add(connection);
    }

    void remove(SoftRoceConnection connection) {
        connections.remove(connection);
    }

    /** Adds this vector's counts to those of others; from any thread. What only the kernel knows is there at the next call. */
    void addCountersTo(Map<String, Long> sums) {
        if (!gate.isClosed()) {
            execute(receiver::noteKernelDrops);
        }
        SoftRoceStatistics all = new SoftRoceStatistics();
        for (Counter counter : Counter.values()) {
            all.add(counter, statistics.get(counter));
        }
        for (SoftRoceQueuePair queuePair : countedQueuePairs) {
            all.add(queuePair.rc().statistics());
        }
        all.addTo(sums);
    }

    // ------------------------------------------------------------------------------------------ the end

    /** Stops the duty cycle for good; from any thread. Waits for a cycle that runs on another thread. */
    void stop() {
        gate.close();
        // From within a handler the cycle around it ends by itself.
        boolean _ = gate.enter(waiter::wake);
    }

    /** Ends what still hangs on a stopped vector, without events. */
    void endAll() {
        List.copyOf(connections).forEach(SoftRoceConnection::close);
        queuePairs.values().forEach(SoftRoceQueuePair::close);
        List.copyOf(rings).forEach(CompletionRing::close);
    }

    /** Runs what the vectors left for connection management, and sends its last messages. */
    void sendLastWords() {
        long nowNanos = System.nanoTime();
        runMailbox();
        transmit(nowNanos);
    }

    /** Frees what the system gave, after {@link #stop}. */
    void release() {
        waiter.close();
        socket.close();
        gate.leave();
    }
}

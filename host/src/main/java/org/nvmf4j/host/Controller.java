package org.nvmf4j.host;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.Cns;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.Feature;
import org.nvmf4j.nvme.FeaturesCommand;
import org.nvmf4j.nvme.IdentifyController;
import org.nvmf4j.nvme.IdentifyNamespace;
import org.nvmf4j.nvme.NamespaceIdentification;
import org.nvmf4j.nvme.NamespaceList;
import org.nvmf4j.nvme.NvmeStatusException;

/**
 * A controller that this host is connected to: its admin commands, its namespaces and its I/O queues. Made by {@link Host#connect};
 * sends Keep Alive by itself. Thread-safe; calls block, and must not be made from callbacks of this package, which run on the threads
 * that they would wait for.
 *
 * <p>When the controller is lost (connection, time limit, keep alive), every outstanding request ends once with an error that says
 * so, and so does everything asked for later; {@link #lost} tells. It is not connected again by itself.
 */
public final class Controller implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(Controller.class.getName());
    private static final int VERSION_WITH_DESCRIPTORS = ControllerProperties.version(1, 3, 0);

    private final Host host;
    private final InetSocketAddress target;
    private final Association association;
    private final String key;
    private final List<IntConsumer> eventListeners = new CopyOnWriteArrayList<>();
    private final List<IoDispatcher> dispatchers = new CopyOnWriteArrayList<>();
    private final BitSet openQueueIds = new BitSet();
    private final AtomicBoolean closed = new AtomicBoolean();
    private int ioQueueCount;
    private int queueSize;

    /**
     * Does nothing yet; {@link #bringUp} follows.
     *
     * @param key what the host knows the connection by
     */
    Controller(Host host, InetSocketAddress target, Association association, String key) {
        this.host = host;
        this.target = target;
        this.association = association;
        this.key = key;
    }

    /** Takes what comes after Identify: queues and events. On failure everything is let go. */
    void bringUp() throws IOException {
        try {
            queueSize = host.queueSize(association.capabilities(), identify().maxcmd());
            ioQueueCount = setNumberOfQueues(host.options().ioQueues());
            if (host.options().threading() == ThreadingMode.LANE_THREADS) {
                for (int qid = 1; qid <= ioQueueCount; qid++) {
                    connectLaneQueue(qid);
                }
            }
            association.startEvents(event -> eventListeners.forEach(listener -> listener.accept(event)));
        } catch (IOException | RuntimeException e) {
            association.close();
            throw e;
        }
    }

    private int setNumberOfQueues(int wanted) throws IOException {
        int granted = association
                .admin()
                .setFeature(Feature.NUMBER_OF_QUEUES, FeaturesCommand.numberOfQueues(wanted, wanted));
        int count = Math.min(FeaturesCommand.submissionQueues(granted), FeaturesCommand.completionQueues(granted));
        if (count < wanted) {
            LOG.log(
                    System.Logger.Level.INFO,
                    "the target grants " + count + " of " + wanted + " I/O queues for " + subsystemNqn());
        }
        return Math.min(count, wanted);
    }

    private void connectLaneQueue(int qid) throws IOException {
        IoQueue queue = association.newQueue(qid, queueSize, host.ioLane(qid));
        IoDispatcher dispatcher = new IoDispatcher(queue, host.memory());
        dispatcher.start();
        association.connect(queue);
        dispatchers.add(dispatcher);
    }

    /**
     * Opens an I/O queue that the calling thread owns; with {@link ThreadingMode#CALLER_THREAD} alone. There are {@link #ioQueueCount} at
     * most, and one thread per completion vector of the device.
     *
     * @throws IllegalStateException if all are open or every vector belongs to another thread
     */
    public IoQueue openIoQueue() throws IOException {
        if (host.options().threading() != ThreadingMode.CALLER_THREAD) {
            throw new IllegalStateException(
                    "I/O queues belong to the host's lanes; open the host with " + ThreadingMode.CALLER_THREAD);
        }
        int qid = takeQueueId();
        HostLane lane;
        try {
            lane = host.claimIoLane();
        } catch (IllegalStateException e) {
            releaseQueueId(qid);
            throw e;
        }
        IoQueue queue = association.newQueue(qid, queueSize, lane);
        var _ = queue.closed().thenRun(() -> {
            releaseQueueId(qid);
            host.releaseIoLane(lane);
        });
        association.connect(queue);
        return queue;
    }

    private int takeQueueId() {
        synchronized (openQueueIds) {
            int qid = openQueueIds.nextClearBit(1);
            if (qid > ioQueueCount) {
                throw new IllegalStateException(
                        "all " + ioQueueCount + " I/O queues are open; ask for more in the host's options");
            }
            openQueueIds.set(qid);
            return qid;
        }
    }

    private void releaseQueueId(int qid) {
        synchronized (openQueueIds) {
            openQueueIds.clear(qid);
        }
    }

    /** Where the controller is. */
    public InetSocketAddress target() {
        return target;
    }

    public String subsystemNqn() {
        return association.subsystemNqn();
    }

    /** CNTLID. */
    public int id() {
        return association.controllerId();
    }

    /** The property CAP, see {@link ControllerProperties}. */
    public long capabilities() {
        return association.capabilities();
    }

    /** The property VS, see {@link ControllerProperties#version}. */
    public int version() {
        return association.version();
    }

    /** Identify Controller, as read at connect. */
    public IdentifyController identify() {
        return association.identify();
    }

    /** I/O queues that the target granted, at most as many as the options ask for. */
    public int ioQueueCount() {
        return ioQueueCount;
    }

    /** Entries of an I/O queue; one less is the most commands outstanding. */
    public int queueSize() {
        return queueSize;
    }

    /** A write of up to this many bytes travels with its command; 0 if none does. */
    public int inCapsuleBytes() {
        return association.inCapsuleBytes();
    }

    /** Completes, on a lane, with the cause if the controller is lost; never if it is closed before. */
    public CompletableFuture<HostException> lost() {
        return association.lost().copy();
    }

    /** Hears of asynchronous events, see {@link org.nvmf4j.nvme.AsyncEvent}, on a lane: it must not block. */
    public void addEventListener(IntConsumer listener) {
        eventListeners.add(listener);
    }

    /**
     * Executes an admin command.
     *
     * @throws NvmeStatusException if it completes with any status but success
     * @throws HostException if the controller is lost or closed
     */
    public AdminCompletion execute(AdminCommand command) throws IOException {
        return association.admin().execute(command);
    }

    /** Executes an admin command; the future completes on a lane with whatever status, or with a {@link HostException}. */
    public CompletableFuture<AdminCompletion> submit(AdminCommand command) {
        return association.adminQueue().submit(command);
    }

    /**
     * Reads a property.
     *
     * @param property see {@link ControllerProperties}
     * @param sizeBytes 4 or 8
     */
    public long propertyGet(int property, int sizeBytes) throws IOException {
        return association.admin().propertyGet(property, sizeBytes);
    }

    /** Writes a property; as {@link #propertyGet}. */
    public void propertySet(int property, int sizeBytes, long value) throws IOException {
        association.admin().propertySet(property, sizeBytes, value);
    }

    /**
     * The 4096 bytes of an Identify.
     *
     * @param cns see {@link Cns}
     */
    public MemorySegment identify(int cns, int nsid) throws IOException {
        return association.admin().identify(cns, nsid).data();
    }

    /**
     * Reads a part of a log page.
     *
     * @param lid see {@link org.nvmf4j.nvme.LogPage}
     * @param retainEvent RAE: leaves the asynchronous event of the page masked
     * @param offset a multiple of 4
     * @param lengthBytes a multiple of 4
     */
    public MemorySegment logPage(int lid, int nsid, boolean retainEvent, long offset, int lengthBytes)
            throws IOException {
        return association
                .admin()
                .logPage(lid, nsid, retainEvent, offset, lengthBytes)
                .data();
    }

    /** NSIDs of the active namespaces, ascending, unsigned. */
    public List<Integer> namespaceIds() throws IOException {
        List<Integer> ids = new ArrayList<>();
        int last = 0;
        while (true) {
            int[] page = NamespaceList.parse(identify(Cns.ACTIVE_NAMESPACE_LIST, last), 0);
            for (int id : page) {
                if (Integer.compareUnsigned(id, last) <= 0) {
                    throw new HostException("the target lists namespace " + Integer.toUnsignedString(id) + " after "
                            + Integer.toUnsignedString(last));
                }
                last = id;
                ids.add(id);
            }
            if (page.length < NamespaceList.MAX_ENTRIES || last == -1 || last == -2) {
                return ids;
            }
        }
    }

    /**
     * Identifies a namespace.
     *
     * @throws HostException if it is not active, or has a format that this host does not know
     */
    public Namespace namespace(int nsid) throws IOException {
        IdentifyNamespace identify = IdentifyNamespace.parse(identify(Cns.NAMESPACE, nsid), 0);
        // Of a namespace that is not active there is nothing else to ask; that it is not is said here.
        return Namespace.of(this, nsid, identify, identify.isActive() ? identification(nsid) : null);
    }

    private @Nullable NamespaceIdentification identification(int nsid) throws IOException {
        if (Integer.compareUnsigned(version(), VERSION_WITH_DESCRIPTORS) < 0) {
            return null;
        }
        return NamespaceIdentification.parse(identify(Cns.NAMESPACE_IDENTIFICATION_DESCRIPTORS, nsid), 0);
    }

    /** The dispatcher that the calling thread's I/O goes through: always the same, so that threads spread over the queues. */
    IoDispatcher dispatcher() {
        int count = dispatchers.size();
        if (count == 0) {
            throw new IllegalStateException("with " + ThreadingMode.CALLER_THREAD
                    + " I/O goes through Controller.openIoQueue; open the host with " + ThreadingMode.LANE_THREADS
                    + " for blocking and asynchronous calls");
        }
        return dispatchers.get((int) (Thread.currentThread().threadId() % count));
    }

    HostMemory memory() {
        return host.memory();
    }

    /**
     * Disconnects: I/O queues, shutdown of the controller, admin queue. What is outstanding ends with an error. An I/O queue that another
     * thread owns ends when that thread polls or closes it, which should be before.
     */
    @Override
    public void close() {
        association.close();
        host.forget(association);
        if (!closed.getAndSet(true)) {
            host.forget(key);
        }
    }
}

package org.nvmf4j.target;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;
import org.nvmf4j.nvme.NvmeFormatException;
import org.nvmf4j.nvme.RdmaPrivateData;
import org.nvmf4j.target.spi.PeerMemoryProvider;
import org.nvmf4j.verbs.AddressText;
import org.nvmf4j.verbs.ConnectionRequest;
import org.nvmf4j.verbs.ConnectionRequestHandler;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.Lane;
import org.nvmf4j.verbs.Listener;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.VerbsException;

/** A device that the target listens on: takes or rejects connections and gives each queue to a lane, one after the other. */
final class TargetPort implements ConnectionRequestHandler, ControllerPeerMemory.Source {
    private static final LimitedLog LOG = new LimitedLog(System.getLogger(TargetPort.class.getName()));

    private final Device device;
    private final Directory directory;
    private final TargetOptions options;
    private final TargetStatistics.Counters statistics;
    private final AtomicLong queueMemoryBytes;
    private final PeerMemories peerMemories;
    private final Executor aside;
    private final ProtectionDomain domain;
    private final List<TargetLane> lanes = new ArrayList<>();
    private final List<Listener> listeners = new ArrayList<>();
    private int nextLane;

    /**
     * Makes the port's part of the device; it does not listen yet.
     *
     * @param queueMemoryBytes what all queues of the target take together
     * @param aside runs what takes too long for a lane
     */
    TargetPort(
            Device device,
            List<Lane> lanes,
            Directory directory,
            TargetOptions options,
            TargetStatistics.Counters statistics,
            AtomicLong queueMemoryBytes,
            PeerMemories peerMemories,
            Executor aside)
            throws VerbsException {
        this.device = device;
        this.directory = directory;
        this.options = options;
        this.statistics = statistics;
        this.queueMemoryBytes = queueMemoryBytes;
        this.peerMemories = peerMemories;
        this.aside = aside;
        this.domain = device.allocateProtectionDomain();
        for (Lane lane : lanes) {
            this.lanes.add(new TargetLane(lane, this.lanes.size(), this));
        }
        this.lanes.forEach(TargetLane::start);
    }

    InetSocketAddress listen(int port) throws VerbsException {
        Listener listener = device.listen(port, this);
        listeners.add(listener);
        return listener.localAddress();
    }

    void stopListening() {
        listeners.forEach(Listener::close);
        listeners.clear();
    }

    Device device() {
        return device;
    }

    Directory directory() {
        return directory;
    }

    TargetOptions options() {
        return options;
    }

    TargetStatistics.Counters statistics() {
        return statistics;
    }

    ProtectionDomain protectionDomain() {
        return domain;
    }

    PeerMemories peerMemories() {
        return peerMemories;
    }

    @Override
    public PeerPlacement place(Namespace namespace, Controller controller, PeerMemoryProvider seen) {
        return peerMemories.place(namespace, this, controller, seen);
    }

    @Override
    public CompletableFuture<Void> release(PortPeerMemory memory) {
        return peerMemories.release(memory);
    }

    /** Runs what takes too long for a lane; from any thread. */
    void aside(Runnable task) {
        aside.execute(task);
    }

    List<TargetLane> lanes() {
        return lanes;
    }

    /** Entries of the largest I/O queue. */
    int maxQueueSize() {
        return Math.min(options.maxQueueSize(), QueueSizes.maxReceives(device.attributes()));
    }

    @Override
    public void onConnectionRequest(ConnectionRequest request) {
        byte[] privateData = request.parameters().privateData();
        int problem = RdmaPrivateData.Request.check(privateData);
        if (problem != 0) {
            reject(request, problem);
            return;
        }
        RdmaPrivateData.Request asked;
        try {
            asked = RdmaPrivateData.Request.parse(privateData);
        } catch (NvmeFormatException e) {
            throw new IllegalStateException("private data that was checked cannot be read", e);
        }
        problem = check(asked, request.parameters().responderResources());
        if (problem != 0) {
            reject(request, problem);
            return;
        }
        QueueSizes sizes = QueueSizes.of(
                asked.hsqsizeZeroBased() + 1,
                request.parameters().responderResources(),
                asked.qid() == 0 ? 0 : options.inCapsuleDataBytes(),
                device.attributes());
        if (queueMemoryBytes.addAndGet(sizes.memoryBytes()) > options.queueMemoryBytes()) {
            released(sizes);
            reject(request, RdmaPrivateData.NO_RESOURCES);
            return;
        }
        TargetLane lane = lanes.get(nextLane);
        nextLane = (nextLane + 1) % lanes.size();
        lane.execute(() -> lane.accept(request, asked, sizes));
    }

    /** Why a queue cannot be: 0, or an NVMe/RDMA reject status. */
    private int check(RdmaPrivateData.Request asked, int peerReads) {
        if (asked.qid() > options.maxIoQueues()) {
            return RdmaPrivateData.INVALID_QID;
        }
        int size = asked.hsqsizeZeroBased() + 1;
        int maxSize = asked.qid() == 0 ? TargetOptions.ADMIN_QUEUE_SIZE : maxQueueSize();
        if (size < 2 || size > maxSize) {
            return RdmaPrivateData.INVALID_HSQSIZE;
        }
        if (asked.hrqsize() == 0) {
            return RdmaPrivateData.INVALID_HRQSIZE;
        }
        return peerReads == 0 ? RdmaPrivateData.INVALID_IRD : 0;
    }

    /** Rejects a connection with an NVMe/RDMA status. */
    void reject(ConnectionRequest request, int status) {
        statistics.rejected.increment();
        LOG.warning("connection from " + AddressText.of(request.remoteAddress()) + " rejected: "
                + new RdmaPrivateData.Reject(status).describe());
        request.reject(new RdmaPrivateData.Reject(status).toBytes());
    }

    /** The queue's memory is free again. */
    void released(QueueSizes sizes) {
        queueMemoryBytes.addAndGet(-sizes.memoryBytes());
    }

    /** Frees what the port has on the device, after its lanes have ended. */
    void close() {
        domain.close();
    }
}

package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.ConnectCommand;
import org.nvmf4j.nvme.ConnectData;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.FeaturesCommand;
import org.nvmf4j.nvme.GetLogPageCommand;
import org.nvmf4j.nvme.IdentifyCommand;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.PropertyCommand;
import org.nvmf4j.nvme.RdmaPrivateData;
import org.nvmf4j.nvme.ReadWriteCommand;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.target.RawQueue.Answer;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.IdleStrategy;
import org.nvmf4j.verbs.Lane;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.VerbsException;

/**
 * A target and a host in one thread, over devices of this process: the test itself runs every lane, so that nothing happens between
 * its steps. Commands are made by hand.
 */
final class RawHost implements AutoCloseable {
    static final String HOST_NQN = "nqn.2025-01.org.example:host";
    static final UUID HOST_ID = UUID.fromString("6a3b1f0e-0000-4000-8000-000000000001");
    static final String SUBSYSTEM_NQN = "nqn.2025-01.org.example:disk";
    private static final long TIMEOUT_NANOS = 60_000_000_000L;

    final Target target;
    private final Device targetDevice;
    private final Device hostDevice;
    private final ProtectionDomain domain;
    private final List<Lane> lanes = new ArrayList<>();
    final List<Lane> targetLanes = new ArrayList<>();
    private final List<RawQueue> queues = new ArrayList<>();
    final InetSocketAddress address;

    RawHost(TargetOptions options, int vectors, Subsystem... subsystems) throws VerbsException {
        this(options, vectors, false, subsystems);
    }

    /**
     * Opens both ends.
     *
     * @param threads whether the target's lanes have threads of their own
     */
    RawHost(TargetOptions options, int vectors, boolean threads, Subsystem... subsystems) throws VerbsException {
        this(options, vectors, threads, builder -> builder, subsystems);
    }

    /** Opens both ends of a target that is built a little differently. */
    RawHost(
            TargetOptions options,
            int vectors,
            boolean threads,
            UnaryOperator<Target.Builder> build,
            Subsystem... subsystems)
            throws VerbsException {
        targetDevice = Device.open(
                "loopback",
                DeviceOptions.towards(InetAddress.getLoopbackAddress()).withVectors(vectors));
        hostDevice = Device.open(
                "loopback", DeviceOptions.towards(targetDevice.attributes().localAddress()));
        domain = hostDevice.allocateProtectionDomain();
        for (int i = 0; i < vectors && !threads; i++) {
            targetLanes.add(new Lane(targetDevice.vector(i), IdleStrategy.BUSY_SPIN));
        }
        lanes.addAll(targetLanes);
        lanes.add(new Lane(hostDevice.vector(0), IdleStrategy.BUSY_SPIN));
        Target.Builder builder =
                Target.builder().options(options).listen(targetDevice, targetLanes, 4420); // none: threads
        for (Subsystem subsystem : subsystems) {
            builder.subsystem(subsystem);
        }
        target = build.apply(builder).start();
        address = target.ports().getFirst();
    }

    static RawHost withNamespace(Namespace namespace) throws VerbsException {
        Subsystem subsystem = new Subsystem(SUBSYSTEM_NQN);
        subsystem.addNamespace(namespace);
        return new RawHost(TargetOptions.defaults(), 1, subsystem);
    }

    Device device() {
        return hostDevice;
    }

    ProtectionDomain domain() {
        return domain;
    }

    void add(RawQueue queue) {
        queues.add(queue);
    }

    /** One cycle of every lane; 0 if nothing happened. */
    int pump() {
        int work = 0;
        for (Lane lane : lanes) {
            work += lane.doWork();
        }
        for (int i = 0; i < queues.size(); i++) {
            work += queues.get(i).poll();
        }
        return work;
    }

    /** One cycle of the host's lane alone. */
    void pumpHost() {
        lanes.getLast().doWork();
        for (int i = 0; i < queues.size(); i++) {
            queues.get(i).poll();
        }
    }

    void pumpUntil(String what, BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (pump() == 0) {
                if (System.nanoTime() - start > TIMEOUT_NANOS) {
                    throw new AssertionError("no " + what + " within a minute");
                }
                Thread.yield();
            }
        }
    }

    /** Runs the lanes until nothing happens any more. */
    void pumpUntilQuiet() {
        int quiet = 0;
        while (quiet < 5) {
            quiet = pump() == 0 ? quiet + 1 : 0;
        }
    }

    /** Runs the target's lanes as they would run that much later. */
    void runTimers(long nanosFromNow) {
        target.lanes().forEach(lane -> lane.doWork(System.nanoTime() + nanosFromNow));
        pumpUntilQuiet();
    }

    // Connections.

    static byte[] privateData(int qid, int size) {
        return new RdmaPrivateData.Request(qid, size, size - 1, 0).toBytes();
    }

    RawQueue tryConnect(int size, byte[] privateData, int responderResources) throws VerbsException {
        RawQueue queue = new RawQueue(this, address, size, privateData, responderResources);
        pumpUntil("answer to a connection request", () -> queue.established || queue.ended);
        return queue;
    }

    /** Connects the queue pair alone. */
    RawQueue connectQueuePair(int qid, int size) throws VerbsException {
        RawQueue queue = tryConnect(size, privateData(qid, size), 16);
        assertThat(queue.established)
                .as("connected; reject reason %d", queue.rejectReason)
                .isTrue();
        return queue;
    }

    /** Sends a Connect command whose data the host offers in its memory. */
    Answer sendConnect(RawQueue queue, int qid, int sqsize, int katoMillis, ConnectData data) {
        return queue.await(sendConnectLater(queue, qid, sqsize, katoMillis, data));
    }

    /** The same without waiting for the answer; returns its command ID. */
    int sendConnectLater(RawQueue queue, int qid, int sqsize, int katoMillis, ConnectData data) {
        data.write(queue.data.segment(), 0);
        int id = queue.nextCommandId();
        ConnectCommand.write(queue.memory(), queue.capsule(), id, qid, sqsize, 0, katoMillis);
        queue.keyed(0, ConnectData.SIZE_BYTES, true);
        queue.send();
        return id;
    }

    static ConnectData connectData(int cntlid) {
        return new ConnectData(HOST_ID, cntlid, SUBSYSTEM_NQN, HOST_NQN);
    }

    /** A whole admin queue: connected and enabled. */
    RawQueue connectAdmin() throws VerbsException {
        return connectAdmin(SUBSYSTEM_NQN, 0);
    }

    RawQueue connectAdmin(String subsystemNqn, int katoMillis) throws VerbsException {
        RawQueue queue = connectQueuePair(0, 32);
        Answer answer = sendConnect(
                queue, 0, 31, katoMillis, new ConnectData(HOST_ID, ConnectData.CNTLID_DYNAMIC, subsystemNqn, HOST_NQN));
        assertThat(answer.status()).as("status of Connect").isZero();
        enable(queue);
        return queue;
    }

    void enable(RawQueue admin) {
        assertThat(setProperty(admin, ControllerProperties.CC, 4, ControllerProperties.cc(true, 0, 0))
                        .status())
                .isZero();
        assertThat(getProperty(admin, ControllerProperties.CSTS, 4).result()).isEqualTo(1);
    }

    /** A whole I/O queue of the first controller. */
    RawQueue connectIo(int qid, int size) throws VerbsException {
        RawQueue queue = connectQueuePair(qid, size);
        Answer answer = sendConnect(queue, qid, size - 1, 0, connectData(1));
        assertThat(NvmeStatus.describeFabrics(answer.status()))
                .as("status of Connect")
                .startsWith("Successful");
        return queue;
    }

    // Commands.

    Answer setProperty(RawQueue queue, int property, int sizeBytes, long value) {
        int id = queue.nextCommandId();
        PropertyCommand.writeSet(queue.memory(), queue.capsule(), id, property, sizeBytes, value);
        queue.send();
        return queue.await(id);
    }

    Answer getProperty(RawQueue queue, int property, int sizeBytes) {
        int id = queue.nextCommandId();
        PropertyCommand.writeGet(queue.memory(), queue.capsule(), id, property, sizeBytes);
        queue.send();
        return queue.await(id);
    }

    Answer identify(RawQueue queue, int nsid, int cns) {
        queue.data.segment().asSlice(0, 4096).fill((byte) 0x5a);
        int id = queue.nextCommandId();
        IdentifyCommand.write(queue.memory(), queue.capsule(), id, nsid, cns, 0);
        queue.keyed(0, 4096, true);
        queue.send();
        return queue.await(id);
    }

    Answer logPage(RawQueue queue, int nsid, int lid, boolean rae, long lpo, int length) {
        queue.data.segment().asSlice(0, length).fill((byte) 0x5a);
        int id = queue.nextCommandId();
        GetLogPageCommand.write(queue.memory(), queue.capsule(), id, nsid, lid, rae, lpo, length);
        queue.keyed(0, length, true);
        queue.send();
        return queue.await(id);
    }

    Answer setFeature(RawQueue queue, int fid, int value) {
        int id = queue.nextCommandId();
        FeaturesCommand.writeSet(queue.memory(), queue.capsule(), id, 0, fid, value);
        queue.send();
        return queue.await(id);
    }

    Answer getFeature(RawQueue queue, int fid) {
        int id = queue.nextCommandId();
        FeaturesCommand.writeGet(queue.memory(), queue.capsule(), id, 0, fid, 0);
        queue.send();
        return queue.await(id);
    }

    /** A command without data and fields. */
    Answer plain(RawQueue queue, int opcode, int nsid) {
        int id = queue.nextCommandId();
        SubmissionQueueEntry.write(queue.memory(), queue.capsule(), opcode, id, nsid);
        queue.send();
        return queue.await(id);
    }

    /** Sends an Asynchronous Event Request; returns its command ID. */
    int sendEventRequest(RawQueue queue) {
        int id = queue.nextCommandId();
        SubmissionQueueEntry.write(queue.memory(), queue.capsule(), AdminOpcode.ASYNCHRONOUS_EVENT_REQUEST, id, 0);
        queue.send();
        pumpUntilQuiet();
        return id;
    }

    /** Sends a Read into the queue's data; returns its command ID. */
    int sendRead(RawQueue queue, int nsid, long slba, int blocks, long dataOffset, int bytes) {
        int id = queue.nextCommandId();
        ReadWriteCommand.write(queue.memory(), queue.capsule(), IoOpcode.READ, id, nsid, slba, blocks, false);
        queue.keyed(dataOffset, bytes, false);
        queue.send();
        return id;
    }

    /** Sends a Write out of the queue's data; returns its command ID. */
    int sendWrite(RawQueue queue, int nsid, long slba, int blocks, long dataOffset, int bytes) {
        int id = queue.nextCommandId();
        ReadWriteCommand.write(queue.memory(), queue.capsule(), IoOpcode.WRITE, id, nsid, slba, blocks, false);
        queue.keyed(dataOffset, bytes, false);
        queue.send();
        return id;
    }

    Answer write(RawQueue queue, int nsid, long slba, int blocks, byte[] bytes) {
        MemorySegment.copy(MemorySegment.ofArray(bytes), 0, queue.data.segment(), 0, bytes.length);
        return queue.await(sendWrite(queue, nsid, slba, blocks, 0, bytes.length));
    }

    Answer writeInCapsule(RawQueue queue, int nsid, long slba, int blocks, byte[] bytes) {
        return queue.await(sendWriteInCapsule(queue, nsid, slba, blocks, bytes));
    }

    /** Sends a Write along with its data; returns its command ID. */
    int sendWriteInCapsule(RawQueue queue, int nsid, long slba, int blocks, byte[] bytes) {
        int id = queue.nextCommandId();
        ReadWriteCommand.write(queue.memory(), queue.capsule(), IoOpcode.WRITE, id, nsid, slba, blocks, false);
        queue.send(queue.inCapsule(bytes));
        return id;
    }

    byte[] read(RawQueue queue, int nsid, long slba, int blocks, int bytes) {
        Answer answer = queue.await(sendRead(queue, nsid, slba, blocks, 0, bytes));
        assertThat(NvmeStatus.describe(answer.status())).startsWith("Successful");
        return queue.data.segment().asSlice(0, bytes).toArray(ValueLayout.JAVA_BYTE);
    }

    /** Closes the target while its lanes run. */
    void closeTarget() {
        var closed = target.closeAsync();
        pumpUntil("end of the target", closed::isDone);
        closed.join();
    }

    @Override
    public void close() {
        closeTarget();
        queues.forEach(RawQueue::close);
        queues.clear();
        domain.close();
        hostDevice.close();
        targetDevice.close();
        TargetStatistics statistics = target.statistics();
        assertThat(statistics.controllers()).as("controllers left").isZero();
        assertThat(statistics.queues()).as("queues left").isZero();
        assertThat(statistics.buffersInUse()).as("buffers left").isZero();
        assertThat(target.peerMemoryStatistics().heldBytes())
                .as("peer memory left")
                .isZero();
        assertThat(statistics.queueMemoryBytes()).as("queue memory left").isZero();
    }
}

package org.nvmf4j.host;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.host.FakeQueue.FakeCommand;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.Cns;
import org.nvmf4j.nvme.ConnectCommand;
import org.nvmf4j.nvme.ConnectData;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.DiscoveryLogEntry;
import org.nvmf4j.nvme.DiscoveryLogPage;
import org.nvmf4j.nvme.FabricsType;
import org.nvmf4j.nvme.FeaturesCommand;
import org.nvmf4j.nvme.GetLogPageCommand;
import org.nvmf4j.nvme.IdentifyCommand;
import org.nvmf4j.nvme.IdentifyController;
import org.nvmf4j.nvme.IdentifyNamespace;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.LbaFormat;
import org.nvmf4j.nvme.NamespaceIdentification;
import org.nvmf4j.nvme.NamespaceList;
import org.nvmf4j.nvme.Nguid;
import org.nvmf4j.nvme.Nqn;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.PropertyCommand;
import org.nvmf4j.nvme.RdmaPrivateData;
import org.nvmf4j.nvme.ReadWriteCommand;
import org.nvmf4j.nvme.SglDescriptor;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.verbs.ConnectionRequest;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.IdleStrategy;
import org.nvmf4j.verbs.Lane;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.VerbsException;

/**
 * A target on the loopback provider that does as it should until a script says otherwise. One controller, ID {@value
 * #CONTROLLER_ID}; namespaces in memory.
 */
final class FakeTarget implements AutoCloseable {
    /** Sees each command first. */
    @FunctionalInterface
    interface Script {
        /** Whether the script has dealt with the command; else the target does what it should. On the target's lane. */
        boolean onCommand(FakeCommand command);
    }

    static final String NQN = "nqn.2025-01.com.example:fake";
    static final int CONTROLLER_ID = 7;
    static final int NAMESPACE_BYTES = 8 << 20;

    final InetSocketAddress address;
    final IdentifyController identify = new IdentifyController()
            .cntlid(CONTROLLER_ID)
            .mn("fake")
            .mdts(5)
            .kas(10)
            .ctratt(IdentifyController.CTRATT_TBKAS)
            .cntrltype(IdentifyController.CNTRLTYPE_IO)
            .lpa(IdentifyController.LPA_EXTENDED_DATA)
            .maxcmd(1024)
            .nn(2)
            .sgls(IdentifyController.SGLS_BYTE_ALIGNED | IdentifyController.SGLS_KEYED | IdentifyController.SGLS_OFFSET)
            .inCapsuleDataBytes(4096)
            .iorcsz(1);
    final Map<Integer, Integer> blockBytes = new TreeMap<>(Map.of(1, 512, 2, 4096));
    final ConcurrentLinkedQueue<FakeCommand> log = new ConcurrentLinkedQueue<>();
    volatile long capabilities = ControllerProperties.cap(127, 2_000);
    volatile int maxIoQueues = 16;
    volatile int rejectStatus;
    volatile boolean recording = true;
    volatile Script script = command -> false;
    volatile DiscoveryLogPage discovery = new DiscoveryLogPage(1, List.of());

    private final Device device;
    private final Lane lane;
    private final ProtectionDomain domain;
    private final Map<Integer, MemorySegment> stores = new TreeMap<>();
    private final List<FakeQueue> queues = new ArrayList<>();
    private final List<FakeCommand> eventRequests = new ArrayList<>();
    private final ReentrantLock turn = new ReentrantLock(true);
    private final Thread thread;
    private volatile boolean closed;
    private int cc;
    private MemorySegment connectData = MemorySegment.NULL;

    FakeTarget() throws VerbsException {
        device = openSomewhere();
        lane = new Lane(device.vector(0), IdleStrategy.BACKOFF);
        domain = device.allocateProtectionDomain();
        stores.put(1, Arena.ofAuto().allocate(NAMESPACE_BYTES));
        stores.put(2, Arena.ofAuto().allocate(NAMESPACE_BYTES));
        address = device.listen(4420, this::onConnectionRequest).localAddress();
        thread = Thread.ofPlatform().daemon().name("fake-target").start(this::run);
    }

    private void run() {
        while (!closed) {
            int work;
            turn.lock();
            try {
                work = lane.doWork();
            } finally {
                turn.unlock();
            }
            if (work == 0) {
                lane.vector().awaitWork(1_000_000);
            }
        }
    }

    /** Stops the target's own thread from running its lane, until {@link #letGo}; {@link #cycle} does so instead. */
    void takeOver() {
        turn.lock();
    }

    void letGo() {
        turn.unlock();
    }

    /** One cycle of a lane that was {@linkplain #takeOver taken over}. */
    void cycle() {
        lane.doWork();
    }

    private static Device openSomewhere() throws VerbsException {
        InetAddress anywhere = InetAddress.ofLiteral("127.255.255.254");
        return Device.open("loopback", DeviceOptions.towards(anywhere));
    }

    private void onConnectionRequest(ConnectionRequest request) {
        try {
            if (rejectStatus != 0) {
                request.reject(new RdmaPrivateData.Reject(rejectStatus).toBytes());
                return;
            }
            RdmaPrivateData.Request asked =
                    RdmaPrivateData.Request.parse(request.parameters().privateData());
            queues.add(new FakeQueue(device, lane, domain, request, asked, this::onCommand));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Runs something on the target's lane and waits for it. */
    void run(Runnable task) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        lane.execute(() -> {
            task.run();
            done.complete(null);
        });
        done.join();
    }

    /** Does something with every queue, the newest last. */
    void withQueues(Consumer<FakeQueue> action) {
        run(() -> List.copyOf(queues).forEach(action));
    }

    void disconnectAdminQueueOnLane() {
        for (FakeQueue queue : queues) {
            if (queue.id() == 0) {
                queue.disconnect();
            }
        }
    }

    void disconnectIoQueuesOnLane() {
        for (FakeQueue queue : queues) {
            if (queue.id() > 0) {
                queue.disconnect();
            }
        }
    }

    /** Completes an asynchronous event request that the host has sent. */
    void fireEvent(int event) {
        run(() -> eventRequests.removeFirst().complete(NvmeStatus.SUCCESS, event));
    }

    int eventRequests() {
        int[] count = new int[1];
        run(() -> count[0] = eventRequests.size());
        return count[0];
    }

    int controllerConfiguration() {
        int[] value = new int[1];
        run(() -> value[0] = cc);
        return value[0];
    }

    /** Of the newest queue. */
    MemorySegment connectData() {
        return connectData;
    }

    /** The same, for scripts. */
    int controllerConfigurationOnLane() {
        return cc;
    }

    MemorySegment store(int nsid) {
        MemorySegment store = stores.get(nsid);
        if (store == null) {
            throw new IllegalArgumentException("no namespace " + nsid);
        }
        return store;
    }

    void fillRandomly(int nsid, long seed) {
        byte[] bytes = new byte[NAMESPACE_BYTES];
        new Random(seed).nextBytes(bytes);
        store(nsid).copyFrom(MemorySegment.ofArray(bytes));
    }

    private void onCommand(FakeCommand command) {
        if (recording) {
            log.add(command);
        }
        if (script.onCommand(command)) {
            return;
        }
        if (command.opcode() == AdminOpcode.FABRICS) {
            onFabrics(command);
        } else if (command.queue.id() == 0) {
            onAdmin(command);
        } else {
            onIo(command);
        }
    }

    private void onFabrics(FakeCommand command) {
        MemorySegment entry = command.entry;
        switch (FabricsType.fctype(entry, 0)) {
            case FabricsType.CONNECT -> withDataOut(command, ConnectData.SIZE_BYTES, data -> onConnect(command, data));
            case FabricsType.PROPERTY_GET -> command.complete(NvmeStatus.SUCCESS, property(entry));
            case FabricsType.PROPERTY_SET -> {
                cc = (int) PropertyCommand.value(entry, 0);
                command.complete(NvmeStatus.SUCCESS);
            }
            default -> command.complete(NvmeStatus.INVALID_OPCODE | NvmeStatus.DNR);
        }
    }

    private void onConnect(FakeCommand command, MemorySegment data) {
        connectData = data;
        String nqn = ConnectData.parse(data, 0).subnqn();
        if (nqn.equals(NQN) || nqn.equals(Nqn.DISCOVERY)) {
            command.complete(NvmeStatus.SUCCESS, CONTROLLER_ID);
        } else {
            command.complete(
                    NvmeStatus.CONNECT_INVALID_PARAMETERS | NvmeStatus.DNR,
                    ConnectCommand.invalidParameter(true, ConnectData.SUBNQN_OFFSET));
        }
    }

    private long property(MemorySegment entry) {
        return switch (PropertyCommand.property(entry, 0)) {
            case ControllerProperties.CAP -> capabilities;
            case ControllerProperties.VS -> ControllerProperties.version(1, 3, 0);
            case ControllerProperties.CC -> cc;
            case ControllerProperties.CSTS ->
                ControllerProperties.csts(
                        ControllerProperties.enabled(cc),
                        false,
                        ControllerProperties.shn(cc) == 0 ? 0 : ControllerProperties.SHST_COMPLETE);
            default -> 0;
        };
    }

    private void onAdmin(FakeCommand command) {
        MemorySegment entry = command.entry;
        switch (command.opcode()) {
            case AdminOpcode.IDENTIFY -> onIdentify(command);
            case AdminOpcode.GET_LOG_PAGE -> onLogPage(command);
            case AdminOpcode.SET_FEATURES -> {
                int wanted = FeaturesCommand.submissionQueues(FeaturesCommand.value(entry, 0));
                int granted = Math.min(wanted, maxIoQueues);
                command.complete(NvmeStatus.SUCCESS, FeaturesCommand.numberOfQueues(granted, granted));
            }
            case AdminOpcode.ASYNCHRONOUS_EVENT_REQUEST -> eventRequests.add(command);
            case AdminOpcode.KEEP_ALIVE -> command.complete(NvmeStatus.SUCCESS);
            default -> command.complete(NvmeStatus.INVALID_OPCODE | NvmeStatus.DNR);
        }
    }

    private void onIdentify(FakeCommand command) {
        MemorySegment data = MemorySegment.ofArray(new byte[Cns.DATA_BYTES]);
        int nsid = SubmissionQueueEntry.nsid(command.entry, 0);
        switch (IdentifyCommand.cns(command.entry, 0)) {
            case Cns.CONTROLLER -> identify.write(data, 0);
            case Cns.ACTIVE_NAMESPACE_LIST -> {
                int[] ids = blockBytes.keySet().stream()
                        .mapToInt(Integer::intValue)
                        .filter(id -> id > nsid)
                        .toArray();
                NamespaceList.write(data, 0, ids, ids.length);
            }
            case Cns.NAMESPACE -> {
                Integer block = blockBytes.get(nsid);
                if (block != null) {
                    long blocks = NAMESPACE_BYTES / block;
                    new IdentifyNamespace()
                            .nsze(blocks)
                            .ncap(blocks)
                            .lbaFormat(0, LbaFormat.ofBlockSize(block))
                            .write(data, 0);
                }
            }
            case Cns.NAMESPACE_IDENTIFICATION_DESCRIPTORS ->
                new NamespaceIdentification(nsid, Nguid.NONE, null, Cns.CSI_NVM).write(data, 0);
            default -> {
                command.complete(NvmeStatus.INVALID_FIELD | NvmeStatus.DNR);
                return;
            }
        }
        sendData(command, data);
        command.complete(NvmeStatus.SUCCESS);
    }

    private void onLogPage(FakeCommand command) {
        int length = (int) GetLogPageCommand.lengthBytes(command.entry, 0);
        MemorySegment page = MemorySegment.ofArray(new byte[Math.max(discovery.sizeBytes(), 65_536)]);
        discovery.write(page, 0);
        sendData(command, page.asSlice(GetLogPageCommand.lpo(command.entry, 0), length));
        command.complete(NvmeStatus.SUCCESS);
    }

    /** Executes an I/O command as a target should. */
    void onIo(FakeCommand command) {
        MemorySegment entry = command.entry;
        int nsid = SubmissionQueueEntry.nsid(entry, 0);
        Integer block = blockBytes.get(nsid);
        if (command.opcode() == IoOpcode.FLUSH) {
            command.complete(NvmeStatus.SUCCESS);
            return;
        }
        if (block == null || !ReadWriteCommand.isInRange(entry, 0, NAMESPACE_BYTES / block)) {
            command.complete(NvmeStatus.LBA_OUT_OF_RANGE | NvmeStatus.DNR);
            return;
        }
        int length = ReadWriteCommand.blocks(entry, 0) * block;
        MemorySegment store = store(nsid).asSlice(ReadWriteCommand.slba(entry, 0) * block, length);
        if (command.opcode() == IoOpcode.READ) {
            sendData(command, store);
            command.complete(NvmeStatus.SUCCESS);
        } else {
            withDataOut(command, length, data -> {
                store.copyFrom(data);
                command.complete(NvmeStatus.SUCCESS);
            });
        }
    }

    /** Writes data where the command's keyed SGL says. */
    void sendData(FakeCommand command, MemorySegment data) {
        long dptr = SubmissionQueueEntry.DPTR_OFFSET;
        command.queue.write(data, SglDescriptor.address(command.entry, dptr), SglDescriptor.key(command.entry, dptr));
    }

    private static void withDataOut(FakeCommand command, int lengthBytes, Consumer<MemorySegment> onData) {
        long dptr = SubmissionQueueEntry.DPTR_OFFSET;
        if (SglDescriptor.lengthBytes(command.entry, dptr) != lengthBytes) {
            command.complete(NvmeStatus.DATA_SGL_LENGTH_INVALID | NvmeStatus.DNR);
        } else if (SglDescriptor.isInCapsule(command.entry, dptr)) {
            onData.accept(command.inCapsuleData);
        } else {
            command.queue.read(
                    lengthBytes,
                    SglDescriptor.address(command.entry, dptr),
                    SglDescriptor.key(command.entry, dptr),
                    onData);
        }
    }

    static DiscoveryLogEntry entry(String nqn) {
        return DiscoveryLogEntry.rdma(DiscoveryLogEntry.SUBTYPE_NVME, nqn, false, "127.0.0.1", 4420, 1, 32);
    }

    /** The first command that was received since, or null. */
    @Nullable
    FakeCommand firstIo() {
        return log.stream().filter(FakeCommand::isIo).findFirst().orElse(null);
    }

    @Override
    public void close() {
        closed = true;
        lane.vector().wakeUp();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        device.close();
    }
}

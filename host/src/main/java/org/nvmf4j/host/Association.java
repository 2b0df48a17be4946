package org.nvmf4j.host;

import static org.nvmf4j.nvme.ControllerProperties.CC;
import static org.nvmf4j.nvme.ControllerProperties.CSTS;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.Cns;
import org.nvmf4j.nvme.ConnectCommand;
import org.nvmf4j.nvme.ConnectData;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.IdentifyController;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.NvmeStatusException;

/**
 * One association of this host with a controller, in NVMe over Fabrics' sense: the admin queue and the I/O queues that belong
 * together, and end together. Whoever loses one queue loses all: {@link #lose} ends every request of the others with the same cause.
 */
final class Association {
    private static final System.Logger LOG = System.getLogger(Association.class.getName());
    private static final long MIN_SHUTDOWN_MILLIS = 5_000;
    private static final long MAX_SHUTDOWN_MILLIS = 60_000;
    private static final long UNPOLLED_QUEUE_MILLIS = 1_000;

    private final QueueContext context;
    private final HostOptions options;
    private final String subsystemNqn;
    private final int keepAliveMillis;
    private final AdminQueue adminQueue;
    private final AdminClient admin;
    private final AsyncEvents events;
    /** Replaced, never changed. */
    private volatile IoQueue[] queues = {};

    private final AtomicReference<@Nullable HostException> failure = new AtomicReference<>();
    private final CompletableFuture<HostException> lost = new CompletableFuture<>();
    private int controllerId;
    private long capabilities;
    private int version;
    private IdentifyController identify = new IdentifyController();
    private boolean enabled;
    private volatile boolean closed;

    /** Does nothing yet; {@link #bringUp} follows. */
    Association(QueueContext context, HostOptions options, String subsystemNqn, int keepAliveMillis) {
        this.context = context;
        this.options = options;
        this.subsystemNqn = subsystemNqn;
        this.keepAliveMillis = keepAliveMillis;
        adminQueue = new AdminQueue(context, new QueueLabel(0, context.target()), this::lose);
        admin = new AdminClient(adminQueue, context.lane());
        events = new AsyncEvents(adminQueue, context.lane());
    }

    /** Connects the admin queue, enables the controller and identifies it. On failure everything is let go. */
    void bringUp() throws IOException {
        try {
            admin.await(adminQueue.connect());
            connectAdmin();
            enable();
            version = (int) admin.propertyGet(ControllerProperties.VS, Integer.BYTES);
            identify =
                    IdentifyController.parse(admin.identify(Cns.CONTROLLER, 0).data(), 0);
            ControllerChecks.check(identify, controllerId, keepAliveMillis);
            startKeepAlive();
        } catch (IOException | RuntimeException e) {
            close();
            throw e;
        }
    }

    private void connectAdmin() throws IOException {
        AdminCommand command = connectCommand(0, AdminQueue.SIZE - 1, ConnectData.CNTLID_DYNAMIC, keepAliveMillis);
        int result = checkConnect(command, admin.complete(command));
        if ((result & (ConnectCommand.RESULT_ATR | ConnectCommand.RESULT_ASCR)) != 0) {
            throw new HostException(subsystemNqn + " requires authentication, which this host does not have");
        }
        controllerId = ConnectCommand.cntlid(result);
    }

    private AdminCommand connectCommand(int qid, int sqsizeZeroBased, int cntlid, int katoMillis) {
        byte[] data = new byte[ConnectData.SIZE_BYTES];
        new ConnectData(
                        options.identity().hostId(),
                        cntlid,
                        subsystemNqn,
                        options.identity().hostNqn())
                .write(MemorySegment.ofArray(data), 0);
        String queue = qid == 0 ? "" : " of I/O queue " + qid;
        AdminCommand command = AdminCommand.withDataOut(
                "Connect" + queue + " to " + subsystemNqn + " at " + QueueLabel.address(context.target()), data);
        ConnectCommand.write(command.entry(), 0, 0, qid, sqsizeZeroBased, 0, katoMillis);
        return command;
    }

    private int checkConnect(AdminCommand command, AdminCompletion completion) throws NvmeStatusException {
        if (!NvmeStatus.isSuccess(completion.status())) {
            String name = NvmeStatus.code(completion.status()) == NvmeStatus.CONNECT_INVALID_HOST
                    ? command.name() + " as host " + options.identity().hostNqn()
                    : command.name();
            throw NvmeStatusException.ofConnect(name, completion.status(), completion.result());
        }
        return completion.dword0();
    }

    private void enable() throws IOException {
        capabilities = admin.propertyGet(ControllerProperties.CAP, Long.BYTES);
        ControllerChecks.checkCapabilities(capabilities);
        int css = (capabilities & ControllerProperties.CAP_CSS_NVM) != 0
                ? ControllerProperties.CSS_NVM
                : ControllerProperties.CSS_ADMIN_ONLY;
        long timeoutMillis = ControllerProperties.timeoutMillis(capabilities);
        if ((capabilities & ControllerProperties.CAP_CRWMS) != 0) {
            // CRTO.CRWMT, in 500 ms
            long crto = admin.propertyGet(ControllerProperties.CRTO, Integer.BYTES);
            timeoutMillis = Math.max(timeoutMillis, (crto & 0xffff) * 500);
        }
        admin.propertySet(CC, Integer.BYTES, ControllerProperties.cc(true, css, ControllerProperties.SHN_NONE));
        enabled = true;
        if (!pollStatus(timeoutMillis, ControllerProperties.CSTS_RDY, ControllerProperties.CSTS_RDY)) {
            throw new HostException("the controller of " + subsystemNqn + " was not ready within " + timeoutMillis
                    + " ms of being enabled");
        }
    }

    /** Polls CSTS until some bits have a value; false if the time is over. */
    private boolean pollStatus(long timeoutMillis, int mask, int value) throws IOException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(Math.max(timeoutMillis, 500));
        long pauseNanos = TimeUnit.MILLISECONDS.toNanos(1);
        while (true) {
            int csts = (int) admin.propertyGet(CSTS, Integer.BYTES);
            if ((csts & mask) == value) {
                return true;
            }
            if (ControllerProperties.fatal(csts)) {
                throw new HostException("the controller of " + subsystemNqn + " has a fatal error (CSTS.CFS)");
            }
            if (System.nanoTime() - deadline >= 0) {
                return false;
            }
            LockSupport.parkNanos(pauseNanos);
            pauseNanos = Math.min(pauseNanos * 2, TimeUnit.MILLISECONDS.toNanos(50));
        }
    }

    private void startKeepAlive() {
        if (keepAliveMillis == 0) {
            return;
        }
        boolean trafficBased = (identify.ctratt() & IdentifyController.CTRATT_TBKAS) != 0;
        KeepAlive timer = new KeepAlive(keepAliveMillis, trafficBased, this::completedCommands, System.nanoTime());
        KeepAliveAgent agent = new KeepAliveAgent(timer, adminQueue, this::lose, keepAliveMillis, context.target());
        context.lane().execute(() -> {
            context.lane().lane().add(agent);
            var _ = adminQueue.closed().thenRun(() -> adminQueue.removeFromLane(agent));
        });
    }

    private long completedCommands() {
        long sum = adminQueue.completedCommands();
        // By index, for this runs beside I/O and an iterator would allocate.
        IoQueue[] open = queues;
        for (int i = 0; i < open.length; i++) {
            sum += open[i].completedCommands();
        }
        return sum;
    }

    /** Asks for events and takes them from now on. */
    void startEvents(IntConsumer onEvent) throws IOException {
        events.start(admin, identify.oaes(), onEvent);
    }

    /** Makes an I/O queue; {@link #connect(IoQueue)} follows. */
    IoQueue newQueue(int qid, int queueSize, HostLane lane) {
        IoQueue queue = new IoQueue(
                context.on(lane),
                new QueueLabel(qid, context.target()),
                queueSize,
                inCapsuleBytes(),
                connectCommand(qid, queueSize - 1, controllerId, 0),
                this::lose);
        changeQueues(open -> open.add(queue));
        var _ = queue.closed().thenRun(() -> changeQueues(open -> open.remove(queue)));
        HostException cause = failure.get();
        if (cause != null || closed) {
            // Whoever ended the association may not have seen this queue.
            queue.fail(cause != null ? cause : new HostException("the controller was closed"));
        }
        return queue;
    }

    private void changeQueues(Consumer<List<IoQueue>> change) {
        synchronized (lost) {
            List<IoQueue> open = new ArrayList<>(List.of(queues));
            change.accept(open);
            queues = open.toArray(IoQueue[]::new);
        }
    }

    /** Connects an I/O queue; on failure it is let go. */
    void connect(IoQueue queue) throws IOException {
        try {
            checkConnect(queue.connectCommand(), queue.lane().await(queue.connect(controllerId), queue::progress));
        } catch (ExecutionException e) {
            close(queue);
            throw AdminClient.asHostException(e.getCause());
        } catch (IOException | RuntimeException e) {
            close(queue);
            throw e;
        }
    }

    int inCapsuleBytes() {
        boolean offsets = (identify.sgls() & IdentifyController.SGLS_OFFSET) != 0;
        return offsets ? (int) Math.min(identify.inCapsuleDataBytes(), Integer.MAX_VALUE) : 0;
    }

    /** Ends the association with a cause, the first of which counts; from any thread. */
    void lose(HostException cause) {
        if (!failure.compareAndSet(null, cause)) {
            return;
        }
        adminQueue.fail(cause);
        for (IoQueue queue : queues) {
            queue.fail(cause);
        }
        lost.complete(cause);
    }

    /** Completes with the cause if the association is lost, on some lane. */
    CompletableFuture<HostException> lost() {
        return lost;
    }

    /** I/O queues first, then the controller in good order, then the admin queue. Does not fail, and does nothing the second time. */
    synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        List<IoQueue> open = List.of(queues);
        for (IoQueue queue : open) {
            if (queue.lane().hasOwnThread()) {
                var _ = queue.disconnect();
            }
        }
        open.forEach(Association::close);
        if (enabled && failure.get() == null) {
            try {
                shutDown();
            } catch (IOException e) {
                LOG.log(System.Logger.Level.INFO, "shutdown of " + subsystemNqn + ": " + e.getMessage());
            }
        }
        try {
            admin.await(adminQueue.disconnect());
        } catch (HostException e) {
            throw new AssertionError("a disconnect does not fail", e);
        }
    }

    private void shutDown() throws IOException {
        int css = (capabilities & ControllerProperties.CAP_CSS_NVM) != 0
                ? ControllerProperties.CSS_NVM
                : ControllerProperties.CSS_ADMIN_ONLY;
        admin.propertySet(CC, Integer.BYTES, ControllerProperties.cc(true, css, ControllerProperties.SHN_NORMAL));
        long entryLatencyMillis = (identify.rtd3e() & 0xffff_ffffL) / 1_000;
        long timeoutMillis = Math.clamp(entryLatencyMillis, MIN_SHUTDOWN_MILLIS, MAX_SHUTDOWN_MILLIS);
        int mask = ControllerProperties.csts(false, false, 3);
        int complete = ControllerProperties.csts(false, false, ControllerProperties.SHST_COMPLETE);
        if (!pollStatus(timeoutMillis, mask, complete)) {
            throw new HostException("the controller did not complete its shutdown within " + timeoutMillis + " ms");
        }
    }

    /** Ends a queue; one that a thread of the user's owns is ended when that thread polls, which is waited for a moment. */
    private static void close(IoQueue queue) {
        HostLane lane = queue.lane();
        CompletableFuture<Void> end = queue.disconnect();
        try {
            if (lane.hasOwnThread() || lane.tryClaim()) {
                lane.await(end, queue::progress);
            } else if (!lane.awaitElsewhere(end, UNPOLLED_QUEUE_MILLIS)) {
                LOG.log(
                        System.Logger.Level.WARNING,
                        "I/O queue " + queue.id() + " stays open: its thread neither polls nor closes it");
            }
        } catch (ExecutionException e) {
            throw new AssertionError("a disconnect does not fail", e);
        }
    }

    AdminClient admin() {
        return admin;
    }

    AdminQueue adminQueue() {
        return adminQueue;
    }

    int controllerId() {
        return controllerId;
    }

    long capabilities() {
        return capabilities;
    }

    int version() {
        return version;
    }

    IdentifyController identify() {
        return identify;
    }

    String subsystemNqn() {
        return subsystemNqn;
    }
}

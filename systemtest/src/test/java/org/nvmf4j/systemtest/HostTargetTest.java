package org.nvmf4j.systemtest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nvmf4j.host.ConnectionRefusedException;
import org.nvmf4j.host.Controller;
import org.nvmf4j.host.Host;
import org.nvmf4j.host.HostException;
import org.nvmf4j.host.HostOptions;
import org.nvmf4j.host.IoQueue;
import org.nvmf4j.host.Namespace;
import org.nvmf4j.host.RegisteredBuffer;
import org.nvmf4j.host.ThreadingMode;
import org.nvmf4j.nvme.AsyncEvent;
import org.nvmf4j.nvme.DiscoveryLogEntry;
import org.nvmf4j.nvme.DiscoveryLogPage;
import org.nvmf4j.nvme.NvmeStatusException;
import org.nvmf4j.target.Subsystem;
import org.nvmf4j.target.TargetOptions;
import org.nvmf4j.target.TargetStatistics;
import org.nvmf4j.target.backend.MemoryBackend;

/** A host and a target on two devices of this process, by each software provider. */
@ParameterizedClass
@ValueSource(strings = {"softroce", "loopback"})
class HostTargetTest {
    private static final int MIB = 1 << 20;
    private static final long SEED = 20_260_801;

    private final String provider;

    HostTargetTest(String provider) {
        this.provider = provider;
    }

    private TargetNode.Setup setup() {
        return TargetNode.Setup.of(provider, 32 * MIB);
    }

    private static HostOptions.Builder callerThread() {
        return HostOptions.builder().threading(ThreadingMode.CALLER_THREAD);
    }

    private static Controller connect(Host host, TargetNode node) throws IOException {
        return host.connect(node.address(), TargetNode.NQN);
    }

    @Test
    void hostFindsTheSubsystem() throws IOException {
        try (TargetNode node = TargetNode.start(setup());
                Host host = node.openHost(HostOptions.builder())) {
            DiscoveryLogPage log = host.discover(node.address());

            List<DiscoveryLogEntry> nvm = log.entries().stream()
                    .filter(entry -> entry.subtype() == DiscoveryLogEntry.SUBTYPE_NVME)
                    .toList();
            assertThat(nvm).hasSize(1);
            assertThat(nvm.getFirst().subnqn()).isEqualTo(TargetNode.NQN);
            assertThat(nvm.getFirst().trtype()).isEqualTo(DiscoveryLogEntry.TRTYPE_RDMA);
            assertThat(nvm.getFirst().traddr())
                    .isEqualTo(node.address().getAddress().getHostAddress());
            assertThat(nvm.getFirst().trsvcid())
                    .isEqualTo(Integer.toString(node.address().getPort()));
        }
    }

    @Test
    void hostIdentifiesControllerAndNamespace() throws IOException {
        try (TargetNode node = TargetNode.start(setup());
                Host host = node.openHost(HostOptions.builder());
                Controller controller = connect(host, node)) {
            assertThat(controller.identify().subnqn()).isEqualTo(TargetNode.NQN);
            assertThat(controller.identify().cntlid()).isEqualTo(controller.id());
            assertThat(controller.identify().sn()).isEqualTo(node.subsystem().serial());
            assertThat(controller.namespaceIds()).containsExactly(TargetNode.NSID);
            Namespace namespace = controller.namespace(TargetNode.NSID);
            assertThat(namespace.sizeBytes()).isEqualTo(32 * MIB);
            assertThat(namespace.blockBytes()).isEqualTo(512);
            assertThat(namespace.identification()).isNotNull();
            assertThat(namespace.identification().uuid())
                    .isEqualTo(node.subsystem().namespaces().getFirst().uuid());
        }
    }

    @ParameterizedTest
    @CsvSource({"0,1024", "0,4096", "4096,1024", "4096,4096", "16384,1024", "16384,4096"})
    void dataOfEverySizeArrivesAsItWasSent(int inCapsuleBytes, int pathMtuBytes) throws IOException {
        TargetOptions options =
                TargetOptions.builder().inCapsuleDataBytes(inCapsuleBytes).build();
        int[] sizes = {512, 1024, 4096, 4608, 16384, 16896, 65536, 131072, MIB, MIB + 512, 4 * MIB};
        try (TargetNode node = TargetNode.start(setup().with(options).withPathMtuBytes(pathMtuBytes));
                Host host = node.openHost(HostOptions.builder());
                Controller controller = connect(host, node);
                RegisteredBuffer buffer = host.allocate(4 * MIB)) {
            assertThat(controller.inCapsuleBytes()).isEqualTo(inCapsuleBytes);
            Namespace namespace = controller.namespace(TargetNode.NSID);
            Random random = new Random(SEED);
            long lba = 3;
            for (int size : sizes) {
                byte[] data = new byte[size];
                random.nextBytes(data);
                MemorySegment registered = buffer.segment().asSlice(0, size);
                MemorySegment heap = MemorySegment.ofArray(new byte[size]);

                registered.copyFrom(MemorySegment.ofArray(data));
                namespace.write(lba, registered);
                namespace.read(lba, heap);
                assertThat(heap.mismatch(MemorySegment.ofArray(data)))
                        .as("first wrong byte of %d written from registered memory", size)
                        .isEqualTo(-1);

                random.nextBytes(data);
                namespace.write(lba, MemorySegment.ofArray(data));
                registered.fill((byte) 0);
                namespace.read(lba, registered);
                assertThat(registered.mismatch(MemorySegment.ofArray(data)))
                        .as("first wrong byte of %d read into registered memory", size)
                        .isEqualTo(-1);
                lba += size / namespace.blockBytes();
            }
            namespace.flush();
        }
    }

    @ParameterizedTest
    @CsvSource({"1,0,4096", "8,16384,1024", "128,0,1024", "128,4096,4096"})
    void dataIsRightAtAnyDepth(int depth, int inCapsuleBytes, int pathMtuBytes) throws IOException {
        TargetOptions options =
                TargetOptions.builder().inCapsuleDataBytes(inCapsuleBytes).build();
        try (TargetNode node = TargetNode.start(setup().with(options).withPathMtuBytes(pathMtuBytes));
                Host host = node.openHost(callerThread().queueSize(depth + 1));
                Controller controller = connect(host, node);
                IoQueue queue = controller.openIoQueue();
                RandomIo io = new RandomIo(
                        host,
                        queue,
                        controller.namespace(TargetNode.NSID),
                        0,
                        depth,
                        SEED,
                        512,
                        4096,
                        8192,
                        16384,
                        131072)) {
            assertThat(queue.capacity()).isEqualTo(depth);
            io.run(20L * depth + 300);
        }
    }

    @Test
    void dataIsRightWhenRequestsWaitForBuffers() throws IOException {
        int depth = 64;
        TargetOptions options = TargetOptions.builder()
                .maxTransferBytes(128 << 10)
                .dataBufferBytes(256 << 10)
                .build();
        try (TargetNode node = TargetNode.start(setup().with(options));
                Host host = node.openHost(callerThread());
                Controller controller = connect(host, node);
                IoQueue queue = controller.openIoQueue();
                RandomIo io = new RandomIo(
                        host, queue, controller.namespace(TargetNode.NSID), 0, depth, SEED, 4096, 131072, 262144)) {
            io.run(500);
            assertThat(node.statistics().bufferWaits()).isPositive();
        }
    }

    @Test
    void dataIsRightWhenRequestsAreSplitIntoManyCommands() throws IOException {
        try (TargetNode node = TargetNode.start(setup().with(
                                TargetOptions.builder().maxTransferBytes(8192).build()));
                Host host = node.openHost(callerThread().queueSize(8));
                Controller controller = connect(host, node);
                IoQueue queue = controller.openIoQueue();
                RandomIo io = new RandomIo(
                        host, queue, controller.namespace(TargetNode.NSID), 0, 7, SEED, 512, 8192, 65536, 66048)) {
            io.run(200);
        }
    }

    @Test
    void targetRefusesWhatItCannotDoAndLivesOn() throws IOException {
        try (TargetNode node = TargetNode.start(setup());
                Host host = node.openHost(HostOptions.builder());
                Controller controller = connect(host, node)) {
            node.subsystem()
                    .addNamespace(org.nvmf4j.target.Namespace.builder(2, new MemoryBackend(MIB))
                            .readOnly(true)
                            .build());
            Namespace namespace = controller.namespace(TargetNode.NSID);
            Namespace readOnly = controller.namespace(2);
            MemorySegment data = Arena.ofAuto().allocate(64 << 10);

            assertThatThrownBy(() -> namespace.read(namespace.blocks() - 127, data))
                    .isInstanceOf(NvmeStatusException.class)
                    .hasMessageContaining("LBA Out of Range");
            assertThatThrownBy(() -> namespace.write(namespace.blocks() - 127, data))
                    .isInstanceOf(NvmeStatusException.class)
                    .hasMessageContaining("LBA Out of Range");
            assertThatThrownBy(() -> readOnly.write(0, data))
                    .isInstanceOf(NvmeStatusException.class)
                    .hasMessageContaining("Write Protected");
            readOnly.read(0, data);
            namespace.read(namespace.blocks() - 128, data);
            assertThat(controller.lost()).isNotDone();
        }
    }

    @Test
    void namespaceCanBeRemovedWhileRequestsRun() throws Exception {
        try (TargetNode node = TargetNode.start(setup());
                Host host = node.openHost(HostOptions.builder());
                Controller controller = connect(host, node)) {
            node.subsystem().addNamespace(org.nvmf4j.target.Namespace.of(2, new MemoryBackend(4 * MIB)));
            Namespace removed = controller.namespace(2);
            List<CompletableFuture<Void>> requests = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                requests.add(removed.writeAsync(0, Arena.ofAuto().allocate(MIB)));
            }
            requests.getFirst().get(Await.LIMIT.toSeconds(), TimeUnit.SECONDS);

            node.subsystem().removeNamespace(2).get(Await.LIMIT.toSeconds(), TimeUnit.SECONDS);

            for (CompletableFuture<Void> request : requests) {
                Throwable end = catchThrowable(() -> request.get(Await.LIMIT.toSeconds(), TimeUnit.SECONDS));
                if (end != null) {
                    assertThat(end.getCause())
                            .isInstanceOf(NvmeStatusException.class)
                            .hasMessageContaining("Invalid Namespace");
                }
            }
            assertThat(controller.namespaceIds()).containsExactly(TargetNode.NSID);
            controller.namespace(TargetNode.NSID).read(0, Arena.ofAuto().allocate(MIB));
        }
    }

    @Test
    void twoQueuesWorkSideBySide() throws Exception {
        try (TargetNode node = TargetNode.start(setup().withVectors(2));
                Host host = node.openHost(callerThread().ioQueues(2));
                Controller controller = connect(host, node)) {
            assertThat(controller.ioQueueCount()).isEqualTo(2);
            Namespace namespace = controller.namespace(TargetNode.NSID);
            List<FutureTask<Void>> jobs = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                long firstByte = i * 8L * MIB;
                long seed = SEED + i;
                jobs.add(new FutureTask<>(() -> {
                    try (IoQueue queue = controller.openIoQueue();
                            RandomIo io =
                                    new RandomIo(host, queue, namespace, firstByte, 32, seed, 512, 4096, 131072)) {
                        io.run(1000);
                    }
                    return null;
                }));
            }
            jobs.forEach(job -> Thread.ofPlatform().daemon().start(job));
            for (FutureTask<Void> job : jobs) {
                job.get(Await.LIMIT.toSeconds(), TimeUnit.SECONDS);
            }
            assertThat(node.statistics().connectionsAccepted()).isEqualTo(3);
        }
    }

    @Test
    void manyThreadsShareTheQueuesOfTheHost() throws Exception {
        try (TargetNode node = TargetNode.start(setup());
                Host host = node.openHost(HostOptions.builder().ioQueues(2));
                Controller controller = connect(host, node)) {
            Namespace namespace = controller.namespace(TargetNode.NSID);
            List<FutureTask<Void>> jobs = new ArrayList<>();
            for (int thread = 0; thread < 4; thread++) {
                int own = thread;
                jobs.add(new FutureTask<>(() -> {
                    Random random = new Random(SEED + own);
                    byte[] data = new byte[64 << 10];
                    byte[] found = new byte[data.length];
                    for (int i = 0; i < 20; i++) {
                        random.nextBytes(data);
                        long lba = (own * 20L + i) * data.length / namespace.blockBytes();
                        namespace.write(lba, MemorySegment.ofArray(data));
                        namespace.read(lba, MemorySegment.ofArray(found));
                        assertThat(found).isEqualTo(data);
                    }
                    return null;
                }));
            }
            jobs.forEach(job -> Thread.ofPlatform().daemon().start(job));
            for (FutureTask<Void> job : jobs) {
                job.get(Await.LIMIT.toSeconds(), TimeUnit.SECONDS);
            }
        }
    }

    @Test
    void wrongNqnIsRefusedInOneLine() throws IOException {
        try (TargetNode node = TargetNode.start(setup());
                Host host = node.openHost(HostOptions.builder())) {
            Throwable refused = catchThrowable(() -> host.connect(node.address(), TargetNode.NQN + ".other"));

            assertThat(refused).isInstanceOf(NvmeStatusException.class);
            assertThat(refused.getMessage())
                    .contains(TargetNode.NQN + ".other", "Invalid Parameters", "SUBNQN")
                    .doesNotContain("\n");
            node.awaitNothingLeft();
        }
    }

    @Test
    void hostThatIsNotAllowedIsRefusedInOneLine() throws IOException {
        try (TargetNode node = TargetNode.start(setup());
                Host host = node.openHost(HostOptions.builder())) {
            node.subsystem().allowHosts(Set.of("nqn.2026-11.org.nvmf4j.test:friend"));

            Throwable refused = catchThrowable(() -> connect(host, node));

            assertThat(refused).isInstanceOf(NvmeStatusException.class);
            assertThat(refused.getMessage()).contains("Invalid Host").doesNotContain("\n");
            assertThat(host.discover(node.address()).entries())
                    .noneMatch(entry -> entry.subnqn().equals(TargetNode.NQN));
        }
    }

    @Test
    void wrongPortIsRefusedInOneLine() throws IOException {
        try (TargetNode node = TargetNode.start(setup());
                Host host = node.openHost(HostOptions.builder())) {
            InetSocketAddress wrong = new InetSocketAddress(
                    node.address().getAddress(), node.address().getPort() - 1);

            Throwable refused = catchThrowable(() -> host.connect(wrong, TargetNode.NQN));

            assertThat(refused).isInstanceOf(ConnectionRefusedException.class);
            assertThat(refused.getMessage())
                    .contains("refused", ":" + wrong.getPort())
                    .doesNotContain("\n");
        }
    }

    @Test
    void hostHearsOfANewNamespaceAndUsesIt() throws Exception {
        try (TargetNode node = TargetNode.start(setup());
                Host host = node.openHost(HostOptions.builder());
                Controller controller = connect(host, node)) {
            BlockingQueue<Integer> events = new LinkedBlockingQueue<>();
            controller.addEventListener(events::add);

            for (int nsid = 2; nsid <= 3; nsid++) {
                node.subsystem().addNamespace(org.nvmf4j.target.Namespace.of(nsid, new MemoryBackend(MIB)));

                assertThat(events.poll(Await.LIMIT.toSeconds(), TimeUnit.SECONDS))
                        .isEqualTo(AsyncEvent.NAMESPACE_ATTRIBUTE_CHANGED);
                assertThat(controller.namespaceIds()).hasSize(nsid).contains(nsid);
                MemorySegment block = Arena.ofAuto().allocate(4096).fill((byte) nsid);
                controller.namespace(nsid).write(0, block);
                MemorySegment found = Arena.ofAuto().allocate(4096);
                controller.namespace(nsid).read(0, found);
                assertThat(found.mismatch(block)).isEqualTo(-1);
            }
        }
    }

    @Test
    void everyRequestEndsOnceWhenTheTargetCloses() throws Exception {
        int depth = 64;
        try (TargetNode node = TargetNode.start(setup());
                Host host = node.openHost(callerThread());
                Controller controller = connect(host, node);
                IoQueue queue = controller.openIoQueue();
                RandomIo io = new RandomIo(
                        host, queue, controller.namespace(TargetNode.NSID), 0, depth, SEED, 4096, 131072)) {
            io.start(Long.MAX_VALUE);
            while (io.ended() < 500) {
                io.poll();
            }

            CompletableFuture<Void> closed = node.target().closeAsync();
            Throwable end = catchThrowable(() -> {
                while (true) {
                    io.poll();
                }
            });

            assertThat(end).isInstanceOf(HostException.class);
            assertThat(end.getMessage()).contains("closed the connection").doesNotContain("\n");
            assertThat(io.outstanding()).isZero();
            assertThat(io.aborted()).isBetween(1L, (long) depth);
            assertThat(queue.outstanding()).isZero();
            assertThat(controller.lost().get(Await.LIMIT.toSeconds(), TimeUnit.SECONDS))
                    .hasMessageContaining("closed the connection");
            closed.get(Await.LIMIT.toSeconds(), TimeUnit.SECONDS);
            assertThat(node.statistics().queues()).isZero();
            assertThat(node.statistics().buffersInUse()).isZero();
        }
    }

    @Test
    void everyFutureEndsOnceWhenTheTargetCloses() throws Exception {
        int all = 200;
        int answered = 20;
        StallingBackend backend = new StallingBackend(32 * MIB, answered);
        try (TargetNode node = TargetNode.start(setup().with(backend));
                Host host = node.openHost(HostOptions.builder().queueSize(16));
                Controller controller = connect(host, node);
                RegisteredBuffer buffer = host.allocate(MIB)) {
            Namespace namespace = controller.namespace(TargetNode.NSID);
            List<CompletableFuture<Void>> requests = new ArrayList<>();
            for (int i = 0; i < all; i++) {
                requests.add(
                        i % 2 == 0
                                ? namespace.writeAsync(i % 8 * 256L, 256, buffer, i % 8 * 131072L)
                                : namespace.readAsync(
                                        i % 8 * 256L, Arena.ofAuto().allocate(131072)));
            }
            requests.getFirst().get(Await.LIMIT.toSeconds(), TimeUnit.SECONDS);
            CompletableFuture<Void> closed;
            try {
                Await.until("the backend keeps a request", () -> backend.kept() > 0, backend::kept);
                closed = node.target().closeAsync();
                assertThat(controller.lost().get(Await.LIMIT.toSeconds(), TimeUnit.SECONDS))
                        .hasMessageContaining("closed the connection");
            } finally {
                backend.letGo();
            }
            closed.get(Await.LIMIT.toSeconds(), TimeUnit.SECONDS);

            int failed = 0;
            for (CompletableFuture<Void> request : requests) {
                Throwable end = catchThrowable(() -> request.get(Await.LIMIT.toSeconds(), TimeUnit.SECONDS));
                if (end != null) {
                    failed++;
                    assertThat(end.getCause()).isInstanceOf(HostException.class);
                    assertThat(end.getCause().getMessage()).doesNotContain("\n");
                }
            }
            assertThat(failed).isBetween(all - answered, all - 1);
            assertThatThrownBy(() -> namespace.read(0, buffer.segment())).isInstanceOf(HostException.class);
            assertThatThrownBy(controller::namespaceIds).isInstanceOf(HostException.class);
        }
    }

    @Test
    void nothingOfAHostIsLeftAtTheTargetWhenItCloses() throws IOException {
        try (TargetNode node = TargetNode.start(setup().withVectors(2))) {
            for (int round = 0; round < 3; round++) {
                try (Host host = node.openHost(callerThread().ioQueues(2))) {
                    Controller controller = connect(host, node);
                    IoQueue queue = controller.openIoQueue();
                    RandomIo io = new RandomIo(
                            host,
                            queue,
                            controller.namespace(TargetNode.NSID),
                            round * 4L * MIB,
                            16,
                            SEED,
                            4096,
                            131072);
                    io.start(Long.MAX_VALUE);
                    while (io.ended() < 100) {
                        io.poll();
                    }
                    assertThat(node.statistics().queues()).isEqualTo(2);
                    io.stop();
                    // In the middle of its requests, whose memory is the caller's again after that.
                    queue.close();
                    assertThat(io.outstanding()).isZero();
                }
                node.awaitNothingLeft();
            }
            TargetStatistics statistics = node.statistics();
            assertThat(statistics.controllersCreated()).isEqualTo(3);
            assertThat(statistics.connectionsFailed()).isZero();
            assertThat(statistics.keepAliveExpiries()).isZero();
        }
    }

    @Test
    void controllerLivesOnAfterAQueueThatAloneKeptItAlive() throws IOException {
        int keepAliveMillis = 3000;
        try (TargetNode node = TargetNode.start(setup());
                Host host = node.openHost(callerThread().keepAliveMillis(keepAliveMillis));
                Controller controller = connect(host, node)) {
            try (IoQueue queue = controller.openIoQueue();
                    RandomIo io = new RandomIo(host, queue, controller.namespace(TargetNode.NSID), 0, 1, SEED, 4096)) {
                long start = System.nanoTime();
                while (System.nanoTime() - start < TimeUnit.MILLISECONDS.toNanos(keepAliveMillis + 200)) {
                    io.run(100);
                }
            }

            assertThat(controller.namespaceIds()).containsExactly(TargetNode.NSID);
            assertThat(controller.lost()).isNotDone();
            assertThat(node.statistics().keepAliveExpiries()).isZero();
        }
    }

    @Test
    void oneSubsystemServesManyControllers() throws IOException {
        try (TargetNode node = TargetNode.start(setup());
                Host host = node.openHost(HostOptions.builder().duplicateConnect(true))) {
            List<Controller> controllers = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                controllers.add(connect(host, node));
            }
            assertThat(controllers.stream().map(Controller::id).distinct()).hasSize(10);
            assertThat(node.statistics().controllers()).isEqualTo(10);
            MemorySegment written = Arena.ofAuto().allocate(4096).fill((byte) 7);
            controllers.getFirst().namespace(TargetNode.NSID).write(8, written);
            for (Controller controller : controllers) {
                MemorySegment found = Arena.ofAuto().allocate(4096);
                controller.namespace(TargetNode.NSID).read(8, found);
                assertThat(found.mismatch(written)).isEqualTo(-1);
                controller.close();
            }
            node.awaitNothingLeft();
            Subsystem subsystem = node.subsystem();
            assertThat(subsystem.namespaces()).hasSize(1);
        }
    }
}

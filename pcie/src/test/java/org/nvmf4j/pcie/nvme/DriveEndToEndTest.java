package org.nvmf4j.pcie.nvme;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nvmf4j.host.Controller;
import org.nvmf4j.host.Host;
import org.nvmf4j.host.HostOptions;
import org.nvmf4j.host.Namespace;
import org.nvmf4j.nvme.IdentifyNamespace;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.NvmeStatusException;
import org.nvmf4j.pcie.PciAddress;
import org.nvmf4j.target.NamespaceSpec;
import org.nvmf4j.target.PeerMemoryStatistics;
import org.nvmf4j.target.Subsystem;
import org.nvmf4j.target.Target;
import org.nvmf4j.target.TargetOptions;
import org.nvmf4j.target.spi.PeerClient;
import org.nvmf4j.target.spi.PeerMemory;
import org.nvmf4j.target.spi.PeerMemoryProvider;
import org.nvmf4j.target.spi.Reach;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;

/** A host, a target whose lanes and control thread run, and a simulated drive behind it. */
class DriveEndToEndTest {
    private static final String NQN = "nqn.2026-11.org.nvmf4j.test:drive";
    private static final int LANES = 2;
    private static final int WORKERS = 4;
    private static final int REGION_BYTES = SimulatedNvme.BLOCKS * SimulatedNvme.BLOCK_BYTES / WORKERS;
    private static final long TIMEOUT_SECONDS = 120;

    private static final List<Logger> TROUBLES =
            List.of(Logger.getLogger(NvmeController.class.getName()), Logger.getLogger(NvmeDrive.class.getName()));

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final long seed = new Random().nextLong();
    private final SimulatedNvme simulated = new SimulatedNvme(seed);
    private final List<AutoCloseable> opened = new ArrayList<>();

    @SuppressWarnings("NullAway.Init")
    private RunningNvme running;

    @SuppressWarnings("NullAway.Init")
    private Target target;

    @SuppressWarnings("NullAway.Init")
    private Namespace namespace;

    @BeforeAll
    static void silence() {
        TROUBLES.forEach(log -> log.setLevel(Level.OFF));
    }

    @AfterAll
    static void speakAgain() {
        TROUBLES.forEach(log -> log.setLevel(null));
    }

    private <T extends AutoCloseable> T closeLater(T resource) {
        opened.add(resource);
        return resource;
    }

    @AfterEach
    void closeAll() throws Exception {
        for (AutoCloseable resource : opened.reversed()) {
            resource.close();
        }
        running.check();
        assertThat(simulated.allocations()).as("seed %d", seed).isZero();
        assertThat(simulated.openings).isZero();
    }

    private NvmeHardware open(PciAddress address) throws IOException {
        assertThat(address).hasToString(SimulatedDrives.ADDRESS);
        if (simulated.cmb != null) {
            simulated.cmb.find(simulated, SimulatedDrives.ADDRESS, folder);
        }
        running = new RunningNvme(simulated);
        return running;
    }

    private void start(String spec) throws IOException {
        Subsystem subsystem = new Subsystem(NQN);
        subsystem.addNamespaces(List.of(NamespaceSpec.parse(spec)), new NvmeDrives(this::open));
        Device device = closeLater(Device.open(
                "loopback",
                DeviceOptions.towards(InetAddress.getLoopbackAddress()).withVectors(LANES)));
        target = closeLater(Target.builder()
                .options(TargetOptions.defaults())
                .listen(device, 0)
                .peerMemory(new OwnMemory())
                .subsystem(subsystem)
                .start());
        Device hostDevice = closeLater(Device.open(
                "loopback", DeviceOptions.towards(device.attributes().localAddress())));
        Host host = closeLater(
                Host.open(hostDevice, HostOptions.builder().ioQueues(LANES).build()));
        Controller controller = closeLater(host.connect(target.ports().getFirst(), NQN));
        namespace = controller.namespace(1);
    }

    /** The drive's own memory, if it has some, which everybody reaches. */
    private final class OwnMemory implements PeerMemoryProvider {
        @Override
        public List<? extends PeerMemory> memories() {
            PeerMemory own = simulated.cmb == null ? null : simulated.cmb.peerMemory();
            return own == null || !own.isPresent() ? List.of() : List.of(own);
        }

        @Override
        public Reach reach(PeerMemory memory, PeerClient client) {
            return Reach.peerToPeer(0);
        }
    }

    /** Writes and reads a region of the namespace, and tries again as long as it is told that this may help. */
    private final class Worker {
        private final Random random;
        private final int first;
        private final byte[] content = new byte[REGION_BYTES];

        Worker(int index) {
            random = new Random(seed + index);
            first = index * REGION_BYTES;
        }

        void step() {
            int blocks = 1 + random.nextInt(random.nextInt(6) == 0 ? 512 : 32);
            int at = random.nextInt(REGION_BYTES / 512 - blocks + 1) * 512;
            byte[] bytes = new byte[blocks * 512];
            long lba = (first + (long) at) / 512;
            if (random.nextBoolean()) {
                random.nextBytes(bytes);
                tryAgain(() -> namespace.writeAsync(lba, MemorySegment.ofArray(bytes)));
                System.arraycopy(bytes, 0, content, at, bytes.length);
            } else {
                tryAgain(() -> namespace.readAsync(lba, MemorySegment.ofArray(bytes)));
                assertThat(bytes).as("seed %d", seed).isEqualTo(Arrays.copyOfRange(content, at, at + bytes.length));
            }
        }

        private void tryAgain(Supplier<CompletableFuture<Void>> io) {
            while (true) {
                try {
                    io.get().orTimeout(TIMEOUT_SECONDS, TimeUnit.SECONDS).join();
                    return;
                } catch (CompletionException e) {
                    if (!(e.getCause() instanceof NvmeStatusException failed)
                            || NvmeStatus.code(failed.status()) != NvmeStatus.COMMAND_INTERRUPTED
                            || NvmeStatus.doNotRetry(failed.status())) {
                        throw e;
                    }
                }
            }
        }

        void checkMedium() {
            assertThat(simulated.medium().at(first, REGION_BYTES))
                    .as("seed %d", seed)
                    .isEqualTo(content);
        }
    }

    private List<Worker> workers() {
        List<Worker> workers = new ArrayList<>();
        for (int i = 0; i < WORKERS; i++) {
            workers.add(new Worker(i));
        }
        return workers;
    }

    /** Has each work in a thread of its own; what goes wrong there comes out here. */
    private static CompletableFuture<Void> run(List<Worker> workers, int steps) {
        return CompletableFuture.allOf(workers.stream()
                .map(worker -> CompletableFuture.runAsync(
                        () -> {
                            for (int i = 0; i < steps; i++) {
                                worker.step();
                            }
                        },
                        task -> Thread.ofPlatform().daemon().start(task)))
                .toArray(CompletableFuture<?>[]::new));
    }

    @Test
    void keepsDataWhereItBelongs() throws IOException {
        simulated
                .namespace
                .nsfeat(IdentifyNamespace.NSFEAT_OPTIMAL_PERFORMANCE)
                .npwg(7)
                .noiob(256);
        start("pcie:04:00.0");
        assertThat(namespace.identify().nsfeat()).isEqualTo(IdentifyNamespace.NSFEAT_OPTIMAL_PERFORMANCE);
        assertThat(namespace.identify().npwg()).isEqualTo(7);
        assertThat(namespace.identify().noiob()).isEqualTo(256);
        List<Worker> workers = workers();
        run(workers, 100).join();
        namespace.flush();
        assertThat(simulated.medium().flushes()).isOne();
        workers.forEach(Worker::checkMedium);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void goesOnAfterAResetUnderLoad(boolean useCmbSqs) throws IOException {
        simulated.cmb = useCmbSqs ? new SimulatedCmb() : null;
        start("pcie:04:00.0,use_cmb_sqs=" + (useCmbSqs ? 1 : 0));
        List<Worker> workers = workers();
        int resets = 0;
        CompletableFuture<Void> load = run(workers, 150);
        while (!load.isDone() && resets < 3) {
            int commands = simulated.medium().commands();
            await(load, () -> simulated.medium().commands() > commands + 50);
            simulated.fatal();
            await(load, () -> !simulated.isFatal());
            resets++;
        }
        load.join();
        assertThat(resets).isPositive();
        workers.forEach(Worker::checkMedium);
    }

    private static void await(CompletableFuture<Void> load, BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean() && !load.isDone()) {
            assertThat(System.nanoTime() - start)
                    .as("nanoseconds of waiting")
                    .isLessThan(TimeUnit.SECONDS.toNanos(TIMEOUT_SECONDS));
            Thread.yield();
        }
    }

    private void endsForGood(String spec, Runnable trouble) throws IOException {
        start(spec);
        List<CompletableFuture<Void>> loads = new ArrayList<>();
        for (Worker worker : workers()) {
            loads.add(run(List.of(worker), 1_000_000));
        }
        await(loads.getFirst(), () -> simulated.medium().commands() > 200);
        trouble.run();
        for (CompletableFuture<Void> load : loads) {
            assertThat(load.handle((nothing, failure) -> failure)
                            .orTimeout(TIMEOUT_SECONDS, TimeUnit.SECONDS)
                            .join())
                    .hasRootCauseInstanceOf(NvmeStatusException.class)
                    .rootCause()
                    .hasMessageContaining("Internal Error")
                    .hasMessageContaining("DNR");
        }
    }

    @Test
    void endsRequestsForGoodWhenTheDriveIsRemoved() throws IOException {
        endsForGood("pcie:04:00.0", () -> simulated.removed = true);
    }

    @Test
    void givesADriveBackThatIsToBeUnbound() throws IOException {
        endsForGood("pcie:04:00.0", () -> running.wanted = true);
        await(new CompletableFuture<>(), () -> running.givenBack);
    }

    /** As long as its memory is mapped, the kernel does not have it back. */
    @Test
    void givesADriveBackThatHadSubmissionQueuesInItsMemory() throws IOException {
        SimulatedCmb cmb = new SimulatedCmb();
        simulated.cmb = cmb;
        endsForGood("pcie:04:00.0,use_cmb_sqs=1", () -> running.wanted = true);
        await(new CompletableFuture<>(), () -> running.givenBack);
        assertThat(cmb.maps).isZero();
    }

    @Test
    void dataPassesThroughTheDrivesOwnMemory() throws IOException {
        SimulatedCmb cmb = new SimulatedCmb();
        simulated.cmb = cmb;
        start("pcie:04:00.0,p2pmem=1");
        byte[] written = new byte[16 << 10];
        new Random(seed).nextBytes(written);
        namespace.write(8, MemorySegment.ofArray(written));
        assertThat(holds(cmb.memory(), written))
                .as("written through the drive's memory")
                .isTrue();
        assertThat(simulated.medium().at(8 * 512, written.length)).isEqualTo(written);
        cmb.memory().fill((byte) 0);
        byte[] read = new byte[written.length];
        namespace.read(8, MemorySegment.ofArray(read));
        assertThat(read).isEqualTo(written);
        assertThat(holds(cmb.memory(), written))
                .as("read through the drive's memory")
                .isTrue();
        PeerMemoryStatistics statistics = target.peerMemoryStatistics();
        assertThat(statistics.buffers()).isEqualTo(2);
        namespace.write(0, MemorySegment.ofArray(new byte[64 << 10])); // as the workers take it to be
        List<Worker> workers = workers();
        run(workers, 50).join();
        workers.forEach(Worker::checkMedium);
        assertThat(target.peerMemoryStatistics().buffers()).isGreaterThan(10);
    }

    /** Queues and data share the buffer: half of it each, of which each lane has its part. */
    @Test
    void submissionQueuesAreInTheDrivesOwnMemoryBesideData() throws IOException {
        SimulatedCmb cmb = new SimulatedCmb();
        simulated.cmb = cmb;
        start("pcie:04:00.0,p2pmem=1,use_cmb_sqs=1");
        namespace.write(0, MemorySegment.ofArray(new byte[64 << 10])); // as the workers take it to be
        List<Worker> workers = workers();
        run(workers, 100).join();
        workers.forEach(Worker::checkMedium);
        assertThat(cmb.queues()).isEqualTo(LANES);
        assertThat(target.peerMemoryStatistics().buffers()).isGreaterThan(10);
    }

    private static boolean holds(MemorySegment memory, byte[] bytes) {
        MemorySegment sought = MemorySegment.ofArray(bytes);
        for (long at = 0; at + bytes.length <= memory.byteSize(); at += 4096) {
            if (memory.asSlice(at, bytes.length).mismatch(sought) < 0) {
                return true;
            }
        }
        return false;
    }
}

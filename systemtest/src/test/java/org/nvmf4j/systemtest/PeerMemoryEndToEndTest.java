package org.nvmf4j.systemtest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nvmf4j.host.Controller;
import org.nvmf4j.host.Host;
import org.nvmf4j.host.HostException;
import org.nvmf4j.host.HostOptions;
import org.nvmf4j.host.IoQueue;
import org.nvmf4j.host.Namespace;
import org.nvmf4j.host.ThreadingMode;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.pcie.BarRange;
import org.nvmf4j.pcie.SysfsPeerMemoryProvider;
import org.nvmf4j.target.PeerMemoryChoice;
import org.nvmf4j.target.PeerMemoryFallback;
import org.nvmf4j.target.PeerMemoryStatistics;
import org.nvmf4j.target.Subsystem;
import org.nvmf4j.target.TargetOptions;
import org.nvmf4j.target.backend.FileBackend;
import org.nvmf4j.target.backend.FileBackendOptions;
import org.nvmf4j.target.backend.FileBackendOptions.DirectIo;
import org.nvmf4j.target.backend.MemoryBackend;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.testkit.SysfsTree;

/** Peer memory over software RoCE: a BAR in a sysfs tree of our own, whose resource file is a plain file that the test looks into. */
class PeerMemoryEndToEndTest {
    private static final String DRIVE = "0000:03:00.0";
    private static final int NSID = 2;
    private static final int BAR_BYTES = 4 << 20;
    private static final int BYTES = 128 << 10;
    private static final long SEED = 20_261_201;

    @TempDir
    Path folder;

    private SysfsTree tree;
    private SysfsTree.Node port;
    private SysfsTree.Node drive;
    private Path bar;

    @BeforeEach
    void build() {
        tree = new SysfsTree(folder.resolve("sys"));
        port = tree.hostBridge("0000:00", SysfsTree.OTHER_HOST_BRIDGE).rootPort("0000:00:01.0");
        plugIn(BAR_BYTES);
    }

    private void plugIn(long barBytes) {
        drive = port.nvme(DRIVE).resource(2, barBytes);
        bar = drive.folder().resolve("resource2");
    }

    private TargetNode start(TargetOptions options) throws IOException {
        return TargetNode.start(TargetNode.Setup.of("softroce", 1 << 20)
                .with(options)
                .with(new SysfsPeerMemoryProvider(tree.root(), List.of(BarRange.parse(DRIVE + "/resource2")))));
    }

    private static void add(Subsystem subsystem, int nsid, Backend backend) {
        subsystem.addNamespace(org.nvmf4j.target.Namespace.builder(nsid, backend)
                .peerMemory(PeerMemoryChoice.parse(DRIVE))
                .build());
    }

    private static HostOptions.Builder callerThread() {
        return HostOptions.builder().threading(ThreadingMode.CALLER_THREAD);
    }

    private static byte[] random(long seed) {
        byte[] bytes = new byte[BYTES];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    private boolean barHolds(byte[] bytes) throws IOException {
        byte[] all = Files.readAllBytes(bar);
        for (int at = 0; at + bytes.length <= all.length; at += 4096) {
            if (Arrays.equals(all, at, at + bytes.length, bytes, 0, bytes.length)) {
                return true;
            }
        }
        return false;
    }

    private void clearBar() throws IOException {
        try (FileChannel channel = FileChannel.open(bar, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.allocate(BAR_BYTES), 0);
        }
    }

    private static long fallbacks(TargetNode node, PeerMemoryFallback why) {
        return node.target().peerMemoryStatistics().fallbacks().getOrDefault(why, -1L);
    }

    private void passesThroughTheBar(Backend backend) throws IOException {
        try (TargetNode node = start(TargetOptions.defaults())) {
            add(node.subsystem(), NSID, backend);
            try (Host host = node.openHost(HostOptions.builder());
                    Controller controller = host.connect(node.address(), TargetNode.NQN)) {
                Namespace namespace = controller.namespace(NSID);
                byte[] bytes = random(1);
                namespace.write(8, MemorySegment.ofArray(bytes));
                assertThat(barHolds(bytes)).as("written through the BAR").isTrue();
                clearBar();
                byte[] read = new byte[BYTES];
                namespace.read(8, MemorySegment.ofArray(read));
                assertThat(read).isEqualTo(bytes);
                assertThat(barHolds(bytes)).as("read through the BAR").isTrue();
                PeerMemoryStatistics statistics = node.target().peerMemoryStatistics();
                assertThat(statistics.bytes()).isEqualTo(2 * BYTES);
                assertThat(statistics.heldBytes()).isEqualTo(BAR_BYTES);
                assertThat(statistics.fallbacks().values()).containsOnly(0L);
            }
            Await.until(
                    "the memory is given back after the last controller",
                    () -> node.target().peerMemoryStatistics().heldBytes() == 0,
                    () -> node.target().peerMemoryStatistics());
        }
    }

    @Test
    void dataOfAMemoryNamespacePassesThroughTheBar() throws IOException {
        passesThroughTheBar(new MemoryBackend(8 << 20));
    }

    @Test
    void dataOfAFileNamespacePassesThroughTheBar() throws IOException {
        passesThroughTheBar(FileBackend.open(
                folder.resolve("disk.img"),
                FileBackendOptions.DEFAULT.withDirectIo(DirectIo.OFF).withCreateSizeBytes(8 << 20)));
    }

    @Test
    void aFileWithDirectIoIsRefused() throws IOException {
        FileBackend file =
                FileBackend.open(folder.resolve("disk.img"), FileBackendOptions.DEFAULT.withCreateSizeBytes(8 << 20));
        try (TargetNode node = start(TargetOptions.defaults())) {
            if (file.directIo()) {
                assertThatThrownBy(() -> add(node.subsystem(), NSID, file))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("direct=off");
            }
        } finally {
            file.close();
        }
    }

    @Test
    void dataIsRightWhenTheBarIsFull() throws IOException {
        drive.unplug();
        plugIn(256 << 10);
        int depth = 64;
        try (TargetNode node = start(TargetOptions.defaults())) {
            add(node.subsystem(), NSID, new MemoryBackend(32 << 20));
            try (Host host = node.openHost(callerThread());
                    Controller controller = host.connect(node.address(), TargetNode.NQN);
                    IoQueue queue = controller.openIoQueue();
                    RandomIo io = new RandomIo(
                            host, queue, controller.namespace(NSID), 0, depth, SEED, 4096, 16384, 131072, 300 << 10)) {
                io.run(2000);
            }
            assertThat(node.target().peerMemoryStatistics().buffers()).isPositive();
            assertThat(fallbacks(node, PeerMemoryFallback.EXHAUSTED)).isPositive();
            assertThat(fallbacks(node, PeerMemoryFallback.TOO_LARGE)).isPositive();
            assertThat(fallbacks(node, PeerMemoryFallback.IN_CAPSULE)).isPositive();
        }
    }

    /** Runs requests until a future has completed, and a few more. */
    private static void pollUntil(RandomIo io, CompletableFuture<Void> done) throws HostException {
        while (!done.isDone()) {
            io.poll();
        }
        done.join();
        pollMore(io);
    }

    private static void pollMore(RandomIo io) throws HostException {
        for (long end = io.ended() + 200; io.ended() < end; ) {
            io.poll();
        }
    }

    @Test
    void dataIsRightWhileNamespacesComeAndGoAndTheDeviceVanishes() throws IOException {
        try (TargetNode node = start(TargetOptions.defaults())) {
            Subsystem subsystem = node.subsystem();
            add(subsystem, NSID, new MemoryBackend(32 << 20));
            try (Host host = node.openHost(callerThread());
                    Controller controller = host.connect(node.address(), TargetNode.NQN);
                    IoQueue queue = controller.openIoQueue();
                    RandomIo io = new RandomIo(
                                    host, queue, controller.namespace(NSID), 0, 32, SEED, 4096, 8192, 65536, 131072)
                            .repeating(PeerMemoryEndToEndTest::canBeRepeated)) {
                io.start(Long.MAX_VALUE);
                pollMore(io);
                for (int round = 0; round < 5; round++) {
                    pollUntil(io, subsystem.disableNamespace(NSID));
                    assertThat(node.target().peerMemoryStatistics().heldBytes()).isZero();
                    long repeated = io.repeated();
                    assertThat(repeated).as("requests while it is disabled").isPositive();
                    long before = node.target().peerMemoryStatistics().buffers();
                    subsystem.enableNamespace(NSID);
                    pollMore(io);
                    assertThat(node.target().peerMemoryStatistics().buffers()).isGreaterThan(before);

                    add(subsystem, NSID + 1, new MemoryBackend(1 << 20));
                    pollMore(io);
                    pollUntil(io, subsystem.removeNamespace(NSID + 1));
                }
                drive.unplug();
                Await.until(
                        "the target notices that the device has gone",
                        () -> {
                            poll(io);
                            return fallbacks(node, PeerMemoryFallback.VANISHED) > 0;
                        },
                        () -> node.target().peerMemoryStatistics());
                pollMore(io);
                Await.until(
                        "the memory is given back",
                        () -> {
                            poll(io);
                            return node.target().peerMemoryStatistics().heldBytes() == 0;
                        },
                        () -> node.target().peerMemoryStatistics());

                plugIn(BAR_BYTES);
                pollUntil(io, subsystem.disableNamespace(NSID));
                long before = node.target().peerMemoryStatistics().buffers();
                subsystem.enableNamespace(NSID);
                pollMore(io);
                assertThat(node.target().peerMemoryStatistics().buffers()).isGreaterThan(before);
                io.stop();
                while (io.isBusy()) {
                    io.poll();
                }
                assertThat(io.aborted()).isZero();
            }
        }
    }

    /** The kernel takes the mapping away, as it does when a device is unplugged: a touch is SIGBUS. */
    @Test
    void dataIsRightAfterTheMappingHasGone() throws IOException {
        try (TargetNode node = start(TargetOptions.defaults())) {
            add(node.subsystem(), NSID, new MemoryBackend(32 << 20));
            try (Host host = node.openHost(callerThread());
                    Controller controller = host.connect(node.address(), TargetNode.NQN)) {
                try (IoQueue queue = controller.openIoQueue();
                        RandomIo io = new RandomIo(host, queue, controller.namespace(NSID), 0, 32, SEED, 8192, 131072)
                                .repeating(PeerMemoryEndToEndTest::canBeRepeated)) {
                    io.start(Long.MAX_VALUE);
                    pollMore(io);
                    try (FileChannel channel = FileChannel.open(bar, StandardOpenOption.WRITE)) {
                        channel.truncate(0);
                    }
                    drive.unplug();
                    Await.until(
                            "requests pass through system memory, or the queue ends",
                            () -> {
                                try {
                                    io.poll();
                                    return io.aborted() > 0 || fallbacks(node, PeerMemoryFallback.VANISHED) > 50;
                                } catch (HostException e) {
                                    return true;
                                }
                            },
                            () -> node.target().peerMemoryStatistics());
                }
            }
            try (Host host = node.openHost(callerThread());
                    Controller controller = host.connect(node.address(), TargetNode.NQN);
                    IoQueue queue = controller.openIoQueue();
                    RandomIo io =
                            new RandomIo(host, queue, controller.namespace(NSID), 16 << 20, 32, SEED, 8192, 131072)) {
                io.run(500);
            }
        }
    }

    private static void poll(RandomIo io) {
        try {
            io.poll();
        } catch (HostException e) {
            throw new AssertionError(e);
        }
    }

    /** What a host meets while the namespace is disabled, or when data was lost with the device. */
    private static boolean canBeRepeated(int status) {
        int code = status & ~(NvmeStatus.DNR | NvmeStatus.MORE);
        return code == NvmeStatus.INVALID_NAMESPACE_OR_FORMAT || code == NvmeStatus.DATA_TRANSFER_ERROR;
    }
}

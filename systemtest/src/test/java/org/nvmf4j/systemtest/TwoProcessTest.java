package org.nvmf4j.systemtest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nvmf4j.host.Controller;
import org.nvmf4j.host.Host;
import org.nvmf4j.host.HostException;
import org.nvmf4j.host.HostOptions;
import org.nvmf4j.host.IoQueue;
import org.nvmf4j.host.Namespace;
import org.nvmf4j.host.ThreadingMode;
import org.nvmf4j.target.TargetStatistics;

/** Host and target in processes of their own, over UDP on loopback, and what becomes of one when the other is killed. */
class TwoProcessTest {
    private static final long SEED = 20_260_802;
    private static final int MIB = 1 << 20;
    /** Longer than a busy machine may stand still. */
    private static final int KEEP_ALIVE_MILLIS = 5000;
    /** Longer than any test: what ends a request here is the transport or the keep-alive. */
    private static final int NO_COMMAND_TIMEOUT_MILLIS = 3_600_000;

    @TempDir
    Path folder;

    private static Host open(NvmfProcess.Serving target, ThreadingMode threading) throws IOException {
        return Host.open(
                target.address().getAddress(),
                HostOptions.builder()
                        .threading(threading)
                        .keepAliveMillis(KEEP_ALIVE_MILLIS)
                        .commandTimeoutMillis(NO_COMMAND_TIMEOUT_MILLIS)
                        .duplicateConnect(true)
                        .build());
    }

    private Path randomFile(String name, int bytes) throws IOException {
        byte[] data = new byte[bytes];
        new Random(SEED).nextBytes(data);
        return Files.write(folder.resolve(name), data);
    }

    private static String sha256(Path file) throws IOException {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file)));
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void fileIsCopiedInAndOut() throws IOException {
        Path disk = folder.resolve("disk.img");
        Path source = randomFile("source", 16 * MIB + 1001);
        Path back = folder.resolve("back");
        try (NvmfProcess.Serving target =
                NvmfProcess.serve(folder, "--nqn", TargetNode.NQN, "--ns", "file:" + disk + ",size=20M")) {
            NvmfProcess.Result in = NvmfProcess.run(folder, "copy", source.toString(), target.uri(1), "--verify");

            assertThat(in.err()).isEmpty();
            assertThat(in.status()).isZero();
            assertThat(in.out()).contains(Files.size(source) + " bytes copied and verified", sha256(source));

            NvmfProcess.Result out = NvmfProcess.run(
                    folder, "copy", target.uri(1), back.toString(), "--size", Long.toString(Files.size(source)));

            assertThat(out.err()).isEmpty();
            assertThat(out.status()).isZero();
            assertThat(sha256(back)).isEqualTo(sha256(source));
            assertThat(Files.mismatch(back, source)).isEqualTo(-1);
        }
    }

    @Test
    void whatWasFlushedOutlivesTheTargetAndTheHostFindsItAgain() throws Exception {
        String[] options = {"--nqn", TargetNode.NQN, "--ns", "file:" + folder.resolve("disk.img") + ",size=16M"};
        byte[] data = new byte[8 * MIB];
        new Random(SEED).nextBytes(data);
        try (NvmfProcess.Serving target = NvmfProcess.serve(folder, options);
                Host host = open(target, ThreadingMode.LANE_THREADS)) {
            try (Controller controller = host.connect(target.address(), TargetNode.NQN)) {
                Namespace namespace = controller.namespace(1);
                namespace.write(0, MemorySegment.ofArray(data));
                namespace.flush();

                target.process().kill();
                controller.lost().get(Await.LIMIT.toSeconds(), TimeUnit.SECONDS);
            }
            try (NvmfProcess.Serving again =
                            NvmfProcess.serveAt(folder, target.address().getAddress(), options);
                    Controller controller = host.connect(again.address(), TargetNode.NQN)) {
                byte[] found = new byte[data.length];
                controller.namespace(1).read(0, MemorySegment.ofArray(found));

                assertThat(MemorySegment.ofArray(found).mismatch(MemorySegment.ofArray(data)))
                        .isEqualTo(-1);
            }
        }
    }

    @Test
    void everyRequestEndsWhenTheTargetIsKilled() throws Exception {
        try (NvmfProcess.Serving target = NvmfProcess.serve(folder, "--nqn", TargetNode.NQN, "--ns", "mem:16M");
                Host host = open(target, ThreadingMode.CALLER_THREAD);
                Controller controller = host.connect(target.address(), TargetNode.NQN);
                IoQueue queue = controller.openIoQueue();
                RandomIo io = new RandomIo(host, queue, controller.namespace(1), 0, 32, SEED, 4096, 131072)) {
            io.start(Long.MAX_VALUE);
            while (io.ended() < 500) {
                io.poll();
            }

            target.process().kill();
            long start = System.nanoTime();
            Throwable end = catchThrowable(() -> {
                while (System.nanoTime() - start < Await.LIMIT.toNanos()) {
                    io.poll();
                }
            });

            assertThat(end).isInstanceOf(HostException.class);
            assertThat(end.getMessage())
                    .contains(target.address().getAddress().getHostAddress())
                    .containsAnyOf("retry", "Keep Alive")
                    .doesNotContain("\n");
            assertThat(io.outstanding()).isZero();
            assertThat(io.aborted()).isPositive();
            assertThat(controller.lost().get(Await.LIMIT.toSeconds(), TimeUnit.SECONDS))
                    .isEqualTo(end);
        }
    }

    @Test
    void nothingOfAHostIsLeftAfterItIsKilled() throws IOException {
        try (TargetNode node =
                TargetNode.start(TargetNode.Setup.of("softroce", 16 * MIB).withVectors(2))) {
            String address = node.address().getAddress().getHostAddress();
            String port = Integer.toString(node.address().getPort());
            try (NvmfProcess bench = NvmfProcess.start(
                    folder,
                    "bench",
                    "-a",
                    address,
                    "-s",
                    port,
                    "-n",
                    TargetNode.NQN,
                    "-k",
                    "5",
                    "--rw",
                    "randrw",
                    "--bs",
                    "64k",
                    "--iodepth",
                    "16",
                    "--numjobs",
                    "2",
                    "--runtime",
                    "600")) {
                Await.until(
                        "the host has sent a thousand commands",
                        () -> node.statistics().commands() > 1000,
                        () -> node.statistics() + bench.out() + bench.err());
                assertThat(node.statistics().queues()).isEqualTo(3);

                bench.kill();
            }
            node.awaitNothingLeft();
            TargetStatistics statistics = node.statistics();
            assertThat(statistics.connectionsFailed() + statistics.keepAliveExpiries())
                    .isPositive();

            try (Host host = node.openHost(HostOptions.builder());
                    Controller controller = host.connect(node.address(), TargetNode.NQN)) {
                controller.namespace(TargetNode.NSID).read(0, MemorySegment.ofArray(new byte[MIB]));
            }
            node.awaitNothingLeft();
        }
    }

    @Test
    void targetClosesWhoseHostsHaveJustBeenKilled() throws Exception {
        try (TargetNode node = TargetNode.start(TargetNode.Setup.of("softroce", 16 * MIB))) {
            String address = node.address().getAddress().getHostAddress();
            String port = Integer.toString(node.address().getPort());
            try (NvmfProcess bench = NvmfProcess.start(
                    folder,
                    "bench",
                    "-a",
                    address,
                    "-s",
                    port,
                    "-n",
                    TargetNode.NQN,
                    "--rw",
                    "randwrite",
                    "--bs",
                    "64k",
                    "--iodepth",
                    "16",
                    "--runtime",
                    "600")) {
                Await.until(
                        "the host has sent a hundred commands",
                        () -> node.statistics().commands() > 100,
                        () -> node.statistics() + bench.out() + bench.err());
                bench.kill();
            }

            node.target().closeAsync().get(Await.LIMIT.toSeconds(), TimeUnit.SECONDS);

            assertThat(node.statistics().queues()).isZero();
            assertThat(node.statistics().buffersInUse()).isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"TERM", "INT"})
    void targetTellsEveryHostWhenItIsToldToEnd(String signal) throws Exception {
        try (NvmfProcess.Serving target =
                        NvmfProcess.serve(folder, "--nqn", TargetNode.NQN, "--ns", "mem:16M", "--verbose");
                Host host = open(target, ThreadingMode.LANE_THREADS);
                Controller first = host.connect(target.address(), TargetNode.NQN);
                Controller second = host.connect(target.address(), TargetNode.NQN)) {
            target.process().signal(signal);

            for (Controller controller : List.of(first, second)) {
                assertThat(controller.lost().get(Await.LIMIT.toSeconds(), TimeUnit.SECONDS))
                        .hasMessageContaining("closed the connection");
            }
            NvmfProcess.Result result = target.process().result();
            assertThat(result.status()).isZero();
            assertThat(result.err().lines()).allMatch(line -> line.startsWith("nvmf: debug: "));
            assertThat(result.out().lines()).anyMatch(line -> line.startsWith("stopped: connections 4,"));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"TERM", "INT"})
    void benchThatIsToldToEndReportsAndSaysGoodbye(String signal) throws IOException {
        try (TargetNode node = TargetNode.start(TargetNode.Setup.of("softroce", 16 * MIB))) {
            String address = node.address().getAddress().getHostAddress();
            String port = Integer.toString(node.address().getPort());
            try (NvmfProcess bench = NvmfProcess.start(
                    folder, "bench", "-a", address, "-s", port, "-n", TargetNode.NQN, "--runtime", "600")) {
                Await.until(
                        "the host has sent a thousand commands",
                        () -> node.statistics().commands() > 1000,
                        () -> node.statistics() + bench.out() + bench.err());

                bench.signal(signal);

                NvmfProcess.Result result = bench.result();
                assertThat(result.status()).isEqualTo(130);
                assertThat(result.err()).isEmpty();
                assertThat(result.out()).contains("IOPS");
            }
            assertThatItSaidGoodbye(node);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"TERM", "INT"})
    void copyThatIsToldToEndSaysGoodbyeEvenWhileItWaitsForData(String signal) throws IOException {
        try (TargetNode node = TargetNode.start(TargetNode.Setup.of("softroce", 16 * MIB))) {
            String uri = "rdma://" + node.address().getAddress().getHostAddress() + ":"
                    + node.address().getPort() + "/" + TargetNode.NQN;
            try (NvmfProcess copy = NvmfProcess.startWithInput(folder, "copy", "-", uri)) {
                long before = node.statistics().commands();
                copy.input().write(new byte[MIB]);
                copy.input().flush();
                Await.until(
                        "the host has two queues and has written",
                        () -> node.statistics().queues() == 2
                                && node.statistics().commands() > before + 15,
                        () -> node.statistics() + copy.out() + copy.err());

                copy.signal(signal);

                NvmfProcess.Result result = copy.result();
                assertThat(result.status()).isEqualTo(130);
                assertThat(result.err().lines())
                        .containsExactly("nvmf copy: interrupted: the first " + MIB + " bytes were written to " + uri
                                + "?nsid=1");
                assertThat(result.out()).isEmpty();
            }
            assertThatItSaidGoodbye(node);
        }
    }

    private static void assertThatItSaidGoodbye(TargetNode node) {
        node.awaitNothingLeft();
        assertThat(node.statistics().connectionsFailed()).isZero();
        assertThat(node.statistics().keepAliveExpiries()).isZero();
    }

    @Test
    void copySaysInOneLineThatItsTargetIsGone() throws IOException {
        try (NvmfProcess.Serving target = NvmfProcess.serve(folder, "--nqn", TargetNode.NQN, "--ns", "mem:16M");
                NvmfProcess copy = NvmfProcess.startWithInput(folder, "copy", "-", target.uri(1), "-k", "1")) {
            copy.input().write(new byte[MIB]);
            copy.input().flush();
            // It reads on only after it has sent that much.
            copy.input().write(new byte[MIB]);
            copy.input().flush();
            target.process().kill();
            try {
                copy.input().write(new byte[MIB]);
                copy.input().close();
            } catch (IOException e) {
                assertThat(e).as("it may have ended before it reads").hasMessageContaining("Broken pipe");
            }

            NvmfProcess.Result result = copy.result();
            assertThat(result.status()).isEqualTo(1);
            assertThat(result.err().lines()).as(result.err()).hasSize(1);
            assertThat(result.err())
                    .startsWith("nvmf copy: ")
                    .contains(target.address().getAddress().getHostAddress())
                    .containsAnyOf("retry", "Keep Alive");
        }
    }

    @Test
    void theTargetOfACommandEndsWithTheCommandHoweverThatEnds() throws IOException {
        try (NvmfProcess demo = NvmfProcess.start(folder, "demo", "--quick")) {
            Await.until(
                    "the demo has a target",
                    () -> demo.out().contains("target   process"),
                    () -> demo.out() + demo.err());
            List<ProcessHandle> targets = demo.handle().descendants().toList();
            assertThat(targets).hasSize(1);

            demo.kill();

            Await.until("the demo's target has ended", () -> !targets.getFirst().isAlive(), () -> targets);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"TERM", "INT"})
    void demoThatIsToldToEndLeavesNothingBehind(String signal) throws IOException {
        try (NvmfProcess demo = NvmfProcess.start(folder, "demo", "--quick")) {
            Await.until(
                    "the demo has a target and a host",
                    () -> demo.out().contains("host     process"),
                    () -> demo.out() + demo.err());
            List<ProcessHandle> targets = demo.handle().descendants().toList();
            assertThat(targets).hasSize(1);

            demo.signal(signal);

            NvmfProcess.Result result = demo.result();
            assertThat(result.status()).isEqualTo(130);
            assertThat(result.err()).isEmpty();
            Await.until("the demo's target has ended", () -> !targets.getFirst().isAlive(), () -> targets);
            try (Stream<Path> left = Files.list(folder)) {
                assertThat(left).noneMatch(file -> file.getFileName().toString().startsWith("nvmf-demo"));
            }
        }
    }
}

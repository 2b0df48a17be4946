package org.nvmf4j.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.bench.Bench;
import org.nvmf4j.bench.BenchResult;
import org.nvmf4j.bench.DirectionResult;
import org.nvmf4j.bench.ReadWrite;
import org.nvmf4j.bench.Stop;
import org.nvmf4j.bench.UdpFloor;
import org.nvmf4j.bench.Workload;
import org.nvmf4j.host.Controller;
import org.nvmf4j.host.Host;
import org.nvmf4j.host.HostException;
import org.nvmf4j.host.HostOptions;
import org.nvmf4j.verbs.AddressText;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code nvmf demo}. */
@Command(name = "demo", description = "Export a file from one process, copy to it and back from another, and measure.")
final class DemoCommand implements Callable<Integer> {
    private static final String NQN = "nqn.2026-11.org.nvmf4j:demo";
    private static final int FILE_NSID = 1;
    private static final int NULL_NSID = 2;

    @Option(names = "--quick", description = "A smaller file and shorter measurements.")
    private boolean quick;

    @Spec
    private CommandSpec spec;

    private final Stop stop = new Stop();

    @Override
    public @Nullable Integer call() throws IOException {
        PrintWriter out = spec.commandLine().getOut();
        Thread current = Thread.currentThread();
        return Interrupt.guard(interrupt -> {
            interrupt.stopBy(() -> {
                stop.request();
                current.interrupt();
            });
            run(out);
        });
    }

    private void run(PrintWriter out) throws IOException {
        Path folder = Files.createTempDirectory("nvmf-demo");
        try {
            long fileBytes = quick ? 16L << 20 : 256L << 20;
            Path disk = folder.resolve("disk.img");
            try (FileChannel image = FileChannel.open(disk, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW)) {
                image.write(ByteBuffer.wrap(new byte[1]), fileBytes - 1);
            }
            try (TargetProcess target = TargetProcess.start(new DeviceMixin(), NQN, "file:" + disk, "null:8G")) {
                out.println("target   process " + target.pid() + ", " + target.ready());
                copyAndCompare(target.address(), folder, fileBytes, out);
                measure(target.address(), out);
            }
        } finally {
            deleteAll(folder);
            out.flush();
        }
    }

    private void copyAndCompare(InetSocketAddress target, Path folder, long bytes, PrintWriter out) throws IOException {
        Path source = folder.resolve("source");
        byte[] hash = writeRandom(source, bytes);
        Path back = folder.resolve("back");
        try (Host host = Host.open(target.getAddress(), HostOptions.defaults());
                Controller controller = host.connect(target, NQN);
                NamespaceCopy copy = new NamespaceCopy(host, controller.namespace(FILE_NSID))) {
            out.println("host     process " + ProcessHandle.current().pid() + ", connected from "
                    + AddressText.of(host.device().localAddress()) + " to controller " + controller.id());
            out.flush();
            long start = System.nanoTime();
            try (LocalData from = LocalData.open(source.toString())) {
                copy.upload(from.channel(), bytes, n -> {});
            }
            long middle = System.nanoTime();
            try (LocalData to = LocalData.create(back.toString())) {
                copy.download(to.channel(), bytes, n -> {});
            }
            long end = System.nanoTime();
            out.printf(
                    "copy     %s in at %s/s, flushed, and out at %s/s%n",
                    size((double) bytes), size(bytes * 1e9 / (middle - start)), size(bytes * 1e9 / (end - middle)));
        }
        byte[] found = LocalData.hash(back, n -> {});
        if (!Arrays.equals(hash, found)) {
            throw new HostException("sha256 mismatch: " + HexFormat.of().formatHex(hash) + " went in, "
                    + HexFormat.of().formatHex(found) + " came back");
        }
        out.println("sha256 match " + HexFormat.of().formatHex(hash));
        out.flush();
    }

    private void measure(InetSocketAddress target, PrintWriter out) throws IOException {
        int millis = quick ? 500 : 3000;
        DirectionResult read4k =
                run(target, ReadWrite.RANDREAD, 4096, 1, millis).reads();
        Histogram floor = UdpFloor.pingPong(quick ? 20_000 : 200_000, true);
        DirectionResult read128k =
                run(target, ReadWrite.READ, 128 << 10, 16, millis).reads();
        DirectionResult write128k =
                run(target, ReadWrite.WRITE, 128 << 10, 16, millis).writes();
        double floorBytes = UdpFloor.throughput(millis, true);
        double p50 = read4k.latencyNanos().getValueAtPercentile(50) / 1e3;
        double floorP50 = floor.getValueAtPercentile(50) / 1e3;
        out.println();
        out.println("null namespace, two processes on loopback      nvmf        UDP floor   ratio");
        out.printf(
                "4 KiB random read, depth 1, median latency  %7.1f us     %7.1f us   %5.2f%n",
                p50, floorP50, p50 / floorP50);
        row(out, "128 KiB read, depth 16, throughput", read128k.bytesPerSecond(), floorBytes);
        row(out, "128 KiB write, depth 16, throughput", write128k.bytesPerSecond(), floorBytes);
        out.println(
                "UDP floor: 64 B out and 4 KiB back between two spinning threads; one way 4 KiB packets with GSO, GRO,");
        out.println("           a CRC32 at both ends and one copy.");
        if (isBeyondFloor(
                p50 / floorP50, read128k.bytesPerSecond() / floorBytes, write128k.bytesPerSecond() / floorBytes)) {
            out.println("remark: nothing beats its floor, so the machine changed its pace in between; measure again.");
        }
    }

    /** Whether a ratio is better than the floor that it is of. */
    static boolean isBeyondFloor(double latencyRatio, double... throughputRatios) {
        return latencyRatio < 1 || Arrays.stream(throughputRatios).anyMatch(ratio -> ratio > 1);
    }

    private static void row(PrintWriter out, String what, double bytesPerSecond, double floor) {
        out.printf(
                "%-42s  %7.2f GB/s   %7.2f GB/s %5.2f%n",
                what, bytesPerSecond / 1e9, floor / 1e9, bytesPerSecond / floor);
    }

    private BenchResult run(InetSocketAddress target, ReadWrite rw, int bs, int depth, int millis) throws IOException {
        Workload workload = new Workload(
                "demo",
                rw,
                bs,
                depth,
                1,
                0,
                millis,
                millis / 2,
                true,
                50,
                false,
                ThreadLocalRandom.current().nextLong(1L << 32));
        return Bench.run(
                workload, new Bench.Location(target, NQN, NULL_NSID, "null"), HostOptions.builder(), new int[0], stop);
    }

    private static byte[] writeRandom(Path file, long bytes) throws IOException {
        SplittableRandom random = new SplittableRandom();
        byte[] piece = new byte[1 << 20];
        var digest = NamespaceCopy.sha256();
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW)) {
            for (long done = 0; done < bytes; done += piece.length) {
                random.nextBytes(piece);
                digest.update(piece);
                channel.write(ByteBuffer.wrap(piece));
            }
        }
        return digest.digest();
    }

    private static String size(double bytes) {
        return org.nvmf4j.bench.FioText.bytes(bytes);
    }

    private static void deleteAll(Path folder) throws IOException {
        try (var files = Files.list(folder)) {
            for (Path file : files.toList()) {
                Files.deleteIfExists(file);
            }
        }
        Files.deleteIfExists(folder);
    }
}

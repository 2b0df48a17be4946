package org.nvmf4j.systemtest;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** The {@code nvmf} command in a process of its own, which is killed when it is closed. Its output goes to files of a folder. */
final class NvmfProcess implements AutoCloseable {
    static final int PORT = 4420;

    private static final String MAIN = "org.nvmf4j.cli.Main";
    private static final int ADDRESS_TRIES = 5;
    private static final int SIGINT = 2;

    private final Process process;
    private final Path out;
    private final Path err;

    private NvmfProcess(Process process, Path out, Path err) {
        this.process = process;
        this.out = out;
        this.err = err;
    }

    /**
     * How a command ended.
     *
     * @param status exit status
     */
    record Result(int status, String out, String err) {}

    static NvmfProcess start(Path folder, String... arguments) throws IOException {
        NvmfProcess nvmf = startWithInput(folder, arguments);
        nvmf.input().close();
        return nvmf;
    }

    /** Starts a command whose standard input stays open. */
    static NvmfProcess startWithInput(Path folder, String... arguments) throws IOException {
        return start(folder, Files.createTempFile(folder, "nvmf-", ".out"), arguments);
    }

    /** Runs a command to its end with its standard output on a full disk. */
    static Result runOnFullDisk(Path folder, String... arguments) throws IOException {
        try (NvmfProcess nvmf = start(folder, Path.of("/dev/full"), arguments)) {
            nvmf.input().close();
            return new Result(nvmf.status(), "", nvmf.err());
        }
    }

    private static NvmfProcess start(Path folder, Path out, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(listening());
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "--enable-native-access=ALL-UNNAMED"));
        command.add("-Djava.io.tmpdir=" + folder);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), MAIN));
        command.addAll(List.of(arguments));
        Path err = Files.createTempFile(folder, "nvmf-", ".err");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(err.toFile());
        // As some users have it set: then the JVM begins with a line to standard error, which nothing may stumble over.
        builder.environment().put("JDK_JAVA_OPTIONS", "-Dnvmf4j.test=true");
        Process process = builder.start();
        return new NvmfProcess(process, out, err);
    }

    /** A shell that starts this build in the background has it ignore SIGINT, and so would every process that it starts. */
    private static List<String> listening() throws IOException {
        String ignored = Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("SigIgn:"))
                .findFirst()
                .orElse("SigIgn: 0");
        long mask = Long.parseUnsignedLong(ignored.substring("SigIgn:".length()).strip(), 16);
        boolean interrupt = (mask & (1L << (SIGINT - 1))) != 0;
        return interrupt ? List.of("env", "--default-signal=INT") : List.of();
    }

    /** Runs a command to its end. */
    static Result run(Path folder, String... arguments) throws IOException {
        try (NvmfProcess nvmf = start(folder, arguments)) {
            return nvmf.result();
        }
    }

    /** {@code nvmf serve} on a loopback address that was free, listening when this returns. */
    static Serving serve(Path folder, String... arguments) throws IOException {
        for (int left = ADDRESS_TRIES; ; left--) {
            try {
                return serveAt(folder, TargetNode.randomLoopbackAddress(), arguments);
            } catch (AssertionError e) {
                if (left == 0 || !String.valueOf(e.getMessage()).contains("taken")) {
                    throw e;
                }
            }
        }
    }

    /** {@code nvmf serve} on a certain address. */
    static Serving serveAt(Path folder, InetAddress address, String... arguments) throws IOException {
        List<String> all = new ArrayList<>(List.of("serve", "--listen", address.getHostAddress() + ":" + PORT));
        all.addAll(Arrays.asList(arguments));
        NvmfProcess nvmf = start(folder, all.toArray(String[]::new));
        try {
            Await.until(
                    "nvmf serve is ready or has ended",
                    () -> !nvmf.process.isAlive() || nvmf.out().contains("\n"),
                    nvmf::err);
            if (!nvmf.out().startsWith("ready")) {
                throw new AssertionError("nvmf serve did not start: " + nvmf.out() + nvmf.err());
            }
            return new Serving(nvmf, new InetSocketAddress(address, PORT));
        } catch (AssertionError e) {
            nvmf.close();
            throw e;
        }
    }

    /** A target in another process, and where it listens. */
    record Serving(NvmfProcess process, InetSocketAddress address) implements AutoCloseable {
        /** The namespace as {@code nvmf copy} names it. */
        String uri(int nsid) {
            return "rdma://" + address.getAddress().getHostAddress() + ":" + PORT + "/" + TargetNode.NQN + "?nsid="
                    + nsid;
        }

        @Override
        public void close() {
            process.close();
        }
    }

    ProcessHandle handle() {
        return process.toHandle();
    }

    /** What it reads from. */
    OutputStream input() {
        return process.getOutputStream();
    }

    /** What it has printed so far. */
    String out() {
        return read(out);
    }

    /** What it has printed to standard error so far, without what depends on the machine and its user. */
    String err() {
        return read(err)
                .lines()
                .filter(line -> !line.contains("net.core.rmem_max"))
                .filter(line -> !line.startsWith("NOTE: Picked up JDK_JAVA_OPTIONS"))
                .map(line -> line + "\n")
                .collect(Collectors.joining());
    }

    private static String read(Path file) {
        try {
            return Files.readString(file, UTF_8);
        } catch (IOException e) {
            throw new AssertionError("cannot read what a command printed", e);
        }
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /** Waits for its end. */
    Result result() {
        return new Result(status(), out(), err());
    }

    private int status() {
        try {
            if (!process.waitFor(Await.LIMIT.toSeconds(), TimeUnit.SECONDS)) {
                throw new AssertionError("nvmf did not end within " + Await.LIMIT.toSeconds() + " s: " + err());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
        return process.exitValue();
    }

    /** SIGTERM or SIGINT. */
    void signal(String name) throws IOException {
        Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                .inheritIO()
                .start();
        try {
            if (kill.waitFor() != 0) {
                throw new AssertionError("cannot send SIG" + name + " to " + process.pid());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    /** SIGKILL; waits until the process is gone. */
    void kill() {
        process.destroyForcibly();
        result();
    }

    @Override
    public void close() {
        List<ProcessHandle> children = process.descendants().toList();
        process.destroyForcibly();
        children.forEach(ProcessHandle::destroyForcibly);
    }
}

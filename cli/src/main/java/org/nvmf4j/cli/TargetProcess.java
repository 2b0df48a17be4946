package org.nvmf4j.cli;

import java.io.BufferedReader;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.nvmf4j.host.HostException;
import org.nvmf4j.linux.NetworkRoutes;
import org.nvmf4j.verbs.AddressText;

/** An {@code nvmf serve} in a process of its own, on a loopback address that was free. */
final class TargetProcess implements AutoCloseable {
    private static final int ATTEMPTS = 5;

    private final Process process;
    private final InetSocketAddress address;
    private final String ready;

    private TargetProcess(Process process, InetSocketAddress address, String ready) {
        this.process = process;
        this.address = address;
        this.ready = ready;
    }

    /** Starts it and waits until hosts can connect. */
    static TargetProcess start(String nqn, String... namespaces) throws IOException {
        String answer = "";
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            InetSocketAddress address = new InetSocketAddress(
                    NetworkRoutes.randomLoopbackAddress(ThreadLocalRandom.current()), Addresses.DEFAULT_PORT);
            List<String> command = javaCommand();
            command.addAll(List.of("serve", "--listen", AddressText.of(address), "--nqn", nqn));
            for (String namespace : namespaces) {
                command.addAll(List.of("--ns", namespace));
            }
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            BufferedReader lines = process.inputReader(StandardCharsets.UTF_8);
            answer = "it said nothing";
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith("ready")) {
                    Thread.ofVirtual().start(() -> drain(lines));
                    return new TargetProcess(process, address, line);
                }
                // A warning, of the JVM's perhaps, or why it ends.
                answer = line;
            }
            stop(process);
        }
        throw new HostException("the target process did not start: " + answer);
    }

    /** This program once more, as it was started itself. */
    private static List<String> javaCommand() {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Main.class.getName()));
        return command;
    }

    private static void drain(BufferedReader lines) {
        try (lines) {
            // A full pipe would stop the target.
            lines.transferTo(java.io.Writer.nullWriter());
        } catch (IOException e) {
            return; // the process has ended
        }
    }

    long pid() {
        return process.pid();
    }

    InetSocketAddress address() {
        return address;
    }

    String ready() {
        return ready;
    }

    @Override
    public void close() {
        stop(process);
    }

    private static void stop(Process process) {
        process.destroy();
        try {
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}

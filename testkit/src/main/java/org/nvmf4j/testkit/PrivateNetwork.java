package org.nvmf4j.testkit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assumptions;

/** Runs a main class in a process with a network namespace of its own, where no other process has an address or a port. */
public final class PrivateNetwork {
    /** Far more than anything takes that is run so. */
    private static final long LIMIT_SECONDS = 120;

    private PrivateNetwork() {}

    /**
     * Runs it with the class path of this process, and requires it to end well. Where the machine lets us make no network namespaces the
     * test is skipped, and says so.
     *
     * @param setUp a shell command that is run in the namespace before, when its loopback interface is up
     */
    public static void run(String setUp, Class<?> main, String... arguments) throws IOException, InterruptedException {
        String denied = failureOf(inNamespace("ip link set lo up"));
        Assumptions.assumeTrue(denied == null, () -> "no network namespaces here: " + denied);
        List<String> command = inNamespace("ip link set lo up && " + setUp + " && exec \"$@\"");
        command.add("sh");
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        command.addAll(List.of(arguments));
        String failure = failureOf(command);
        if (failure != null) {
            throw new AssertionError(main.getName() + " " + String.join(" ", arguments) + ": " + failure);
        }
    }

    private static List<String> inNamespace(String script) {
        return new ArrayList<>(List.of("unshare", "-rn", "sh", "-c", script));
    }

    /** Null if a command ends with status 0. */
    private static @Nullable String failureOf(List<String> command) throws IOException, InterruptedException {
        Path output = Files.createTempFile("private-network", ".txt");
        try {
            Process process;
            try {
                process = new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile())
                        .start();
            } catch (IOException e) {
                return e.getMessage();
            }
            process.getOutputStream().close();
            try {
                if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
                    return "not done after " + LIMIT_SECONDS + " s: " + Files.readString(output);
                }
                int status = process.exitValue();
                return status == 0 ? null : "exit status " + status + ": " + Files.readString(output);
            } finally {
                process.descendants().forEach(ProcessHandle::destroyForcibly);
                process.destroyForcibly();
            }
        } finally {
            Files.delete(output);
        }
    }
}

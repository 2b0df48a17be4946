package org.nvmf4j.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Assumptions;

/** A C program that says what this machine's headers have, for tests of numbers that are written down in Java. */
public final class CProgram {
    private CProgram() {}

    /** Skips the test where a header is missing, and names the packages that have it. */
    public static void needsHeader(String header, String packages) {
        Assumptions.assumeTrue(Files.exists(Path.of(header)), header + " is not there: apt-get install " + packages);
    }

    /** {@code IbvSendWr} is {@code ibv_send_wr}. */
    public static String nameOf(Class<?> struct) {
        return struct.getSimpleName().replaceAll("(?<!^)([A-Z])", "_$1").toLowerCase(Locale.ROOT);
    }

    /** Compiles and runs a program, and gives its lines; skips the test where there is no compiler. */
    public static List<String> output(Path folder, String program) throws IOException, InterruptedException {
        Path source = Files.writeString(folder.resolve("program.c"), program);
        Path binary = folder.resolve("program");
        Process compiler;
        try {
            compiler = new ProcessBuilder("cc", "-o", binary.toString(), source.toString())
                    .redirectErrorStream(true)
                    .start();
        } catch (IOException e) {
            Assumptions.abort("no C compiler here: " + e.getMessage());
            throw e;
        }
        String messages = new String(compiler.getInputStream().readAllBytes(), UTF_8);
        assertThat(compiler.waitFor()).as(messages).isZero();
        Process run = new ProcessBuilder(binary.toString()).start();
        List<String> lines =
                new String(run.getInputStream().readAllBytes(), UTF_8).lines().toList();
        assertThat(run.waitFor()).isZero();
        return lines;
    }
}

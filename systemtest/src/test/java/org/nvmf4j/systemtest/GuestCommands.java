package org.nvmf4j.systemtest;

import java.io.BufferedReader;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.List;
import org.nvmf4j.cli.Main;

/**
 * Runs commands one after another in one JVM: in the emulated guest of {@code interop/}, one takes ten seconds and more to start. Arguments: a
 * named pipe, which gives a command a line, its words ended by unit separators (037); and a file that is made with the exit status
 * when a command is done. A command is {@code nvmf} and what that takes, {@code test} and what {@link TestRun} takes, or {@code main}, a
 * class that is run, and what that takes.
 */
final class GuestCommands {
    private static final String WORD_END = "\037";

    private GuestCommands() {}

    public static void main(String[] args) throws IOException {
        Path commands = Path.of(args[0]);
        Path status = Path.of(args[1]);
        while (true) {
            try (BufferedReader lines = Files.newBufferedReader(commands)) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    int ended = run(Arrays.asList(line.split(WORD_END)));
                    System.out.flush();
                    System.err.flush();
                    Path whole = Files.writeString(Path.of(status + ".new"), ended + "\n");
                    Files.move(whole, status, StandardCopyOption.ATOMIC_MOVE);
                }
            }
        }
    }

    private static int run(List<String> words) {
        List<String> rest = words.subList(1, words.size());
        return switch (words.getFirst()) {
            case "nvmf" -> Main.launch(Main.commandLine(), rest.toArray(String[]::new));
            case "test" -> TestRun.of(rest, System.out) ? 0 : 1;
            case "main" -> main(rest.getFirst(), rest.subList(1, rest.size()));
            default -> throw new IllegalArgumentException("nvmf, test or main, not " + words.getFirst());
        };
    }

    private static int main(String name, List<String> words) {
        try {
            Method main = Class.forName(name).getDeclaredMethod("main", String[].class);
            main.setAccessible(true);
            main.invoke(null, (Object) words.toArray(String[]::new));
            return 0;
        } catch (ReflectiveOperationException e) {
            e.printStackTrace();
            return 1;
        }
    }
}

package org.nvmf4j.pcie.vfio;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Where the memory behind BARs and bridges is, by the {@code resource} files of sysfs: lines of {@code START END FLAGS}. */
final class MemoryWindows {
    private static final int IORESOURCE_MEM = 0x200;

    private MemoryWindows() {}

    /** Those of all functions; of one that is unplugged while we read perhaps none. */
    static List<IovaSpace.Range> of(Path sysfs) throws IOException {
        List<IovaSpace.Range> windows = new ArrayList<>();
        try (DirectoryStream<Path> functions = Files.newDirectoryStream(sysfs.resolve("bus/pci/devices"))) {
            for (Path function : functions) {
                Path file = function.resolve("resource");
                if (Files.exists(file)) {
                    add(Files.readAllLines(file), windows);
                }
            }
        }
        return windows;
    }

    private static void add(List<String> lines, List<IovaSpace.Range> windows) {
        for (String line : lines) {
            String[] words = line.split(" ", -1);
            if (words.length == 3 && (number(words[2]) & IORESOURCE_MEM) != 0) {
                long start = number(words[0]);
                long end = number(words[1]);
                if (start > 0 && end > start && end < Long.MAX_VALUE) {
                    windows.add(new IovaSpace.Range(start, end + 1));
                }
            }
        }
    }

    private static long number(String text) {
        try {
            return Long.parseUnsignedLong(text.startsWith("0x") ? text.substring(2) : text, 16);
        } catch (NumberFormatException e) {
            return 0;
        }
    }
}

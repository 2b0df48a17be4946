package org.nvmf4j.cli;

import java.util.Map;
import java.util.stream.Collectors;

/** A device's counters as text. */
final class Counters {
    private Counters() {}

    /** Those that are not 0, in one line. */
    static String line(Map<String, Long> counters) {
        String line = counters.entrySet().stream()
                .filter(counter -> counter.getValue() != 0)
                .map(counter -> counter.getKey() + " " + counter.getValue())
                .collect(Collectors.joining(", "));
        return line.isEmpty() ? "nothing counted" : line;
    }
}

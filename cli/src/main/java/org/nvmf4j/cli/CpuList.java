package org.nvmf4j.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** CPUs as fio and taskset list them: {@code 0,2} or {@code 0-3,6}. */
final class CpuList {
    private static final Pattern RANGE = Pattern.compile("(\\d{1,5})(?:-(\\d{1,5}))?");

    private CpuList() {}

    static List<Integer> parse(String text) {
        List<Integer> cpus = new ArrayList<>();
        for (String part : text.split(",", -1)) {
            Matcher range = RANGE.matcher(part.strip());
            int first = range.matches() ? Integer.parseInt(range.group(1)) : 1;
            int last = !range.matches() ? 0 : range.group(2) == null ? first : Integer.parseInt(range.group(2));
            if (last < first) {
                throw new IllegalArgumentException(
                        "--cpus_allowed is a list of CPUs, as in 0,2 or 0-3, not '" + text + "'");
            }
            for (int cpu = first; cpu <= last; cpu++) {
                cpus.add(cpu);
            }
        }
        return cpus;
    }
}

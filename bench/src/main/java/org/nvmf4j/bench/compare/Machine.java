package org.nvmf4j.bench.compare;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** What a measurement ran on, as far as the system tells. */
public final class Machine {
    private Machine() {}

    /** Names and values, in an order for people: processor, how many of them, kernel, load before the run, JDK. */
    public static Map<String, String> describe() {
        Map<String, String> facts = new LinkedHashMap<>();
        facts.put("CPU", processor());
        facts.put("logical CPUs", Integer.toString(Runtime.getRuntime().availableProcessors()));
        facts.put("kernel", System.getProperty("os.name") + " " + System.getProperty("os.version"));
        facts.put("load average", loadAverage());
        facts.put("JDK", System.getProperty("java.vendor") + " " + System.getProperty("java.runtime.version"));
        return facts;
    }

    private static String loadAverage() {
        double load = ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage();
        return load < 0 ? "unknown" : String.format(Locale.ROOT, "%.2f over a minute", load);
    }

    private static String processor() {
        try (var lines = Files.lines(Path.of("/proc/cpuinfo"))) {
            return lines.filter(line -> line.startsWith("model name"))
                    .map(line -> line.substring(line.indexOf(':') + 1).strip())
                    .findFirst()
                    .orElseGet(() -> System.getProperty("os.arch"));
        } catch (IOException e) {
            return System.getProperty("os.arch");
        }
    }
}

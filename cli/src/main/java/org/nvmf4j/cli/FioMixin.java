package org.nvmf4j.cli;

import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** Options that a fio command line often has: those that say what is so anyway are taken, of others it is said why they are not. */
final class FioMixin {
    private static final Map<String, String> NOT_HERE = Map.ofEntries(
            Map.entry("--filename", "the namespace is named by -a, -n and -N"),
            Map.entry("--output", "redirect standard output"),
            Map.entry("--norandommap", "a random pattern visits every block once before any a second time"),
            Map.entry("--buffered", "there is no page cache between bench and the target"),
            Map.entry("--invalidate", "there is no page cache between bench and the target"),
            Map.entry("--loops", "use --time_based with --runtime to start over"),
            Map.entry("--rwmixwrite", "use --rwmixread with the rest to 100"),
            Map.entry("--offset", "the regions of the jobs follow each other from the start of the namespace"),
            Map.entry("--eta", "only the end is reported"),
            Map.entry("--number_ios", "say how much with --size, or how long with --runtime"),
            Map.entry("--minimal", "use -o json"));

    @Option(
            names = "--ioengine",
            paramLabel = "NAME",
            defaultValue = "nvmf",
            description = "nvmf, the only one: this host itself.")
    private String ioengine = "nvmf";

    @Option(
            names = "--direct",
            paramLabel = "1",
            arity = "0..1",
            converter = Flag.class,
            defaultValue = "1",
            fallbackValue = "1",
            description = "Always so: no page cache is between bench and the target.")
    private boolean direct = true;

    @Option(
            names = "--group_reporting",
            paramLabel = "1",
            arity = "0..1",
            converter = Flag.class,
            defaultValue = "1",
            fallbackValue = "1",
            description = "Always so: jobs are reported as one.")
    private boolean groupReporting = true;

    @Option(
            names = "--thread",
            paramLabel = "1",
            arity = "0..1",
            converter = Flag.class,
            defaultValue = "1",
            fallbackValue = "1",
            description = "Always so: jobs are threads.")
    private boolean thread = true;

    /** Refuses what is not so. */
    void check() {
        if (!ioengine.equals("nvmf")) {
            throw new IllegalArgumentException("--ioengine must be nvmf, not " + ioengine
                    + ": bench does its I/O by itself, not by way of the kernel; leave it out");
        }
        require(direct, "--direct=0", "there is no page cache between bench and the target");
        require(groupReporting, "--group_reporting=0", "jobs are reported as one");
        require(thread, "--thread=0", "jobs are threads");
    }

    private static void require(boolean usual, String option, String why) {
        if (!usual) {
            throw new IllegalArgumentException(option + " is not possible: " + why + "; leave it out");
        }
    }

    /** Why bench does not have an option of fio's, or null if there is nothing special to say. */
    static @Nullable String whyNot(String option) {
        int equals = option.indexOf('=');
        String name = equals < 0 ? option : option.substring(0, equals);
        String why = NOT_HERE.get(name);
        return why == null ? null : name + " is not an option here: " + why;
    }

    /** fio's yes or no. */
    static final class Flag implements ITypeConverter<Boolean> {
        @Override
        public Boolean convert(String text) {
            return switch (text) {
                case "1", "true" -> true;
                case "0", "false" -> false;
                default -> throw new TypeConversionException("'" + text + "' is neither 0 nor 1");
            };
        }
    }
}

package org.nvmf4j.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.bench.Bench;
import org.nvmf4j.bench.BenchResult;
import org.nvmf4j.bench.FioJson;
import org.nvmf4j.bench.FioText;
import org.nvmf4j.bench.ReadWrite;
import org.nvmf4j.bench.Stop;
import org.nvmf4j.bench.Workload;
import org.nvmf4j.linux.CpuAffinity;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code nvmf bench}. */
@Command(
        name = "bench",
        description = "Load a namespace and report as fio does.",
        footer = {
            "",
            "A run ends when each job has moved --size, or after --runtime, whichever comes first; with neither it",
            "takes 10 seconds. Every job polls its own I/O queue without pause and works in a region of its own."
        })
final class BenchCommand implements Callable<Integer> {
    private static final double DEFAULT_RUNTIME_SECONDS = 10;

    @Mixin
    private FabricMixin fabric;

    @Option(
            names = {"-n", "--nqn"},
            paramLabel = "NQN",
            required = true,
            description = "NQN of the subsystem.")
    private String nqn = "";

    @Option(
            names = "--namespace-id",
            paramLabel = "NSID",
            defaultValue = "1",
            description = "The namespace (default: ${DEFAULT-VALUE}).")
    private int nsid = 1;

    @Option(
            names = "--name",
            paramLabel = "NAME",
            defaultValue = "bench",
            description = "Name of the job in the report.")
    private String name = "bench";

    @Option(
            names = {"--rw", "--readwrite"},
            paramLabel = "PATTERN",
            defaultValue = "randread",
            description = "read, write, randread, randwrite, rw or randrw (default: ${DEFAULT-VALUE}).")
    private String readWrite = "randread";

    @Option(
            names = {"--bs", "--blocksize"},
            paramLabel = "BYTES",
            defaultValue = "4k",
            converter = Sizes.class,
            description = "Bytes of a request (default: ${DEFAULT-VALUE}).")
    private long blockBytes = 4096;

    @Option(
            names = "--iodepth",
            paramLabel = "N",
            defaultValue = "1",
            description = "Requests that each job keeps outstanding (default: ${DEFAULT-VALUE}).")
    private int iodepth = 1;

    @Option(
            names = "--numjobs",
            paramLabel = "N",
            defaultValue = "1",
            description = "Threads, each with its own I/O queue (default: ${DEFAULT-VALUE}).")
    private int jobs = 1;

    @Option(
            names = "--size",
            paramLabel = "BYTES",
            converter = Sizes.class,
            description = "Region of each job (default: its share of the namespace).")
    private @Nullable Long sizeBytes;

    @Option(names = "--runtime", paramLabel = "SECONDS", description = "End after so long.")
    private @Nullable Double runtimeSeconds;

    @Option(names = "--ramp_time", paramLabel = "SECONDS", description = "Run so long before anything counts.")
    private double rampSeconds;

    @Option(names = "--time_based", description = "Start over until --runtime is up.")
    private boolean timeBased;

    @Option(
            names = "--rwmixread",
            paramLabel = "PERCENT",
            defaultValue = "50",
            description = "Share of reads in a mixed pattern (default: ${DEFAULT-VALUE}).")
    private int rwmixread = 50;

    @Option(
            names = "--verify",
            paramLabel = "METHOD",
            description = "Write blocks that can be checked, read them back and check them: crc32c.")
    private @Nullable String verify;

    @Option(
            names = "--randseed",
            paramLabel = "N",
            description = "Seed of order and data (default: made up; --verbose prints it).")
    private @Nullable Long seed;

    @Option(
            names = "--cpus_allowed",
            paramLabel = "CPU",
            split = ",",
            description = "Pin job i to the i-th of these CPUs.")
    private List<Integer> cpus = List.of();

    @Option(
            names = {"-o", "--output-format"},
            paramLabel = "FORMAT",
            defaultValue = "normal",
            description = "normal or json, in fio's forms (default: ${DEFAULT-VALUE}).")
    private Report.Format format = Report.Format.NORMAL;

    @Spec
    private CommandSpec spec;

    @Override
    public @Nullable Integer call() throws IOException {
        if (verify != null && !verify.equals("crc32c")) {
            throw new IllegalArgumentException("--verify must be crc32c, not '" + verify + "'");
        }
        Workload workload = workload();
        int[] pinning = cpus();
        NamespaceUri uri = new NamespaceUri(fabric.target(), nqn, nsid);
        Stop stop = new Stop();
        try (Interrupt _ = Interrupt.onSignal(stop::request, Failures.INTERRUPTED)) {
            report(Bench.run(
                    workload,
                    new Bench.Location(uri.target(), nqn, nsid, uri.toString()),
                    fabric.host.options(),
                    pinning,
                    stop));
        }
        return 0;
    }

    private void report(BenchResult result) throws IOException {
        if (format == Report.Format.JSON) {
            FioJson.write(result, Version.name(), Instant.now(), System.out);
            System.out.flush();
            return;
        }
        PrintWriter out = spec.commandLine().getOut();
        out.print(FioText.of(result));
        if (Verbosity.of(spec.commandLine())) {
            out.println("  randseed: " + result.workload().seed());
            out.println("  device: " + Counters.line(result.deviceCounters()));
        }
        out.flush();
    }

    private Workload workload() {
        double seconds = runtimeSeconds != null ? runtimeSeconds : sizeBytes != null ? 0 : DEFAULT_RUNTIME_SECONDS;
        return new Workload(
                name,
                ReadWrite.of(readWrite),
                blockBytes(),
                iodepth,
                jobs,
                sizeBytes == null ? 0 : sizeBytes,
                millis("--runtime", seconds),
                millis("--ramp_time", rampSeconds),
                timeBased || (sizeBytes == null && !isVerify()),
                rwmixread,
                isVerify(),
                seed != null ? seed : ThreadLocalRandom.current().nextLong(1L << 32));
    }

    private int blockBytes() {
        if (blockBytes < 512 || blockBytes > Workload.MAX_BLOCK_BYTES) {
            throw new IllegalArgumentException("--bs must be 512 to " + Sizes.format(Workload.MAX_BLOCK_BYTES)
                    + ", not " + Sizes.format(blockBytes));
        }
        return (int) blockBytes;
    }

    private int[] cpus() throws IOException {
        if (!cpus.isEmpty()) {
            Set<Integer> allowed =
                    Arrays.stream(CpuAffinity.allowedCpus()).boxed().collect(Collectors.toCollection(TreeSet::new));
            if (!allowed.containsAll(cpus)) {
                throw new IllegalArgumentException(
                        "--cpus_allowed must be of the CPUs that this process may use, " + allowed + ", not " + cpus);
            }
        }
        return cpus.stream().mapToInt(Integer::intValue).toArray();
    }

    private boolean isVerify() {
        return verify != null;
    }

    private static long millis(String option, double seconds) {
        if (!(seconds >= 0 && seconds <= 1e9)) {
            throw new IllegalArgumentException(option + " must be seconds from 0, not " + seconds);
        }
        return Math.round(seconds * 1000);
    }
}

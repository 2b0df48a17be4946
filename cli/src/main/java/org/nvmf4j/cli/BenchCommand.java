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
import org.nvmf4j.host.HostOptions;
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
            "A run ends when each job has moved --size, or after --runtime, whichever comes",
            "first; with neither it takes 10 seconds. Every job polls its own I/O queue",
            "without pause and works in a region of its own."
        })
final class BenchCommand implements Callable<Integer> {
    private static final long DEFAULT_RUNTIME_MILLIS = 10_000;
    private static final long REPEATED_SEED = 1;

    @Mixin
    private FabricMixin fabric;

    @Option(
            names = {"-n", "--nqn"},
            paramLabel = "NQN",
            required = true,
            converter = NqnConverter.class,
            description = "NQN of the subsystem.")
    private String nqn = "";

    @Mixin
    private NamespaceMixin namespace;

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

    @Option(
            names = "--runtime",
            paramLabel = "TIME",
            converter = Durations.class,
            description = "End after so long: seconds, or as in 500ms, 30s, 2m, 1h.")
    private @Nullable Long runtimeMillis;

    @Option(
            names = "--ramp_time",
            paramLabel = "TIME",
            converter = Durations.class,
            defaultValue = "0",
            description = "Run so long before anything counts (default: ${DEFAULT-VALUE}).")
    private long rampMillis;

    @Option(
            names = "--time_based",
            paramLabel = "1",
            arity = "0..1",
            converter = FioMixin.Flag.class,
            defaultValue = "0",
            fallbackValue = "1",
            description = "Start over until --runtime is up.")
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
            names = "--randrepeat",
            paramLabel = "0|1",
            arity = "0..1",
            converter = FioMixin.Flag.class,
            defaultValue = "0",
            fallbackValue = "1",
            description = "The same order and data in every run, with 1 (default: ${DEFAULT-VALUE}, unlike fio).")
    private boolean randrepeat;

    @Option(
            names = "--cpus_allowed",
            paramLabel = "CPUS",
            description = "Pin job i to the i-th of these CPUs, as in 0,2 or 0-3.")
    private @Nullable String cpus;

    @Mixin
    private FioMixin fio;

    @Option(
            names = {"-o", "--output-format"},
            paramLabel = "FORMAT",
            defaultValue = "normal",
            converter = FormatConverter.class,
            description = "normal or json, in fio's forms (default: ${DEFAULT-VALUE}).")
    private Report.Format format = Report.Format.NORMAL;

    @Spec
    private CommandSpec spec;

    @Override
    public @Nullable Integer call() throws IOException {
        fio.check();
        if (verify != null && !verify.equals("crc32c")) {
            throw new IllegalArgumentException("--verify must be crc32c, not '" + verify + "'");
        }
        Workload workload = workload();
        int[] pinning = cpus();
        NamespaceUri uri = new NamespaceUri(fabric.target(), nqn, namespace.nsid);
        HostOptions options = Bench.hostOptions(workload, fabric.host.options());
        Stop stop = new Stop();
        return Interrupt.guard(interrupt -> {
            try (Session session = Session.open(uri.target(), nqn, options, interrupt, spec)) {
                interrupt.stopBy(stop::request);
                Bench.Location where = new Bench.Location(uri.target(), nqn, uri.nsid(), uri.toString());
                report(Bench.run(workload, where, session.host(), session.controller(), pinning, stop));
            }
        });
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
        if (runtimeMillis == null && timeBased) {
            throw new IllegalArgumentException("--time_based needs --runtime: add it, as in --runtime=10s");
        }
        if (runtimeMillis != null && runtimeMillis == 0) {
            throw new IllegalArgumentException("--runtime must be more than 0; leave it out to move --size once");
        }
        long millis = runtimeMillis != null ? runtimeMillis : sizeBytes != null ? 0 : DEFAULT_RUNTIME_MILLIS;
        return new Workload(
                name,
                ReadWrite.of(readWrite),
                blockBytes(),
                iodepth,
                jobs,
                sizeBytes == null ? 0 : sizeBytes,
                millis,
                rampMillis,
                timeBased || (sizeBytes == null && !isVerify()),
                rwmixread,
                isVerify(),
                seed());
    }

    private long seed() {
        if (seed != null) {
            return seed;
        }
        return randrepeat ? REPEATED_SEED : ThreadLocalRandom.current().nextLong(1L << 32);
    }

    private int blockBytes() {
        if (blockBytes < 512 || blockBytes > Workload.MAX_BLOCK_BYTES) {
            throw new IllegalArgumentException("--bs must be 512 to " + Sizes.format(Workload.MAX_BLOCK_BYTES)
                    + ", not " + Sizes.format(blockBytes));
        }
        return (int) blockBytes;
    }

    private int[] cpus() throws IOException {
        if (cpus == null) {
            return new int[0];
        }
        List<Integer> wanted = CpuList.parse(cpus);
        Set<Integer> allowed =
                Arrays.stream(CpuAffinity.allowedCpus()).boxed().collect(Collectors.toCollection(TreeSet::new));
        if (!allowed.containsAll(wanted)) {
            throw new IllegalArgumentException(
                    "--cpus_allowed must be of the CPUs that this process may use, " + allowed + ", not " + cpus);
        }
        return wanted.stream().mapToInt(Integer::intValue).toArray();
    }

    private boolean isVerify() {
        return verify != null;
    }
}

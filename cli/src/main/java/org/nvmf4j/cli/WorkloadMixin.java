package org.nvmf4j.cli;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.bench.ReadWrite;
import org.nvmf4j.bench.Workload;
import org.nvmf4j.linux.CpuAffinity;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** What to do with a namespace, by fio's names. */
final class WorkloadMixin {
    private static final long REPEATED_SEED = 1;

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
            description = "Run so long before anything counts.")
    private @Nullable Long rampMillis;

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

    /**
     * The workload.
     *
     * @param defaultRuntimeMillis how long to run if neither a size nor a runtime is given
     * @param defaultRampMillis how long to run before anything counts if that is not given
     * @throws IllegalArgumentException with one line that names the option that is wrong
     */
    Workload workload(long defaultRuntimeMillis, long defaultRampMillis) {
        fio.check();
        if (verify != null && !verify.equals("crc32c")) {
            throw new IllegalArgumentException("--verify must be crc32c, not '" + verify + "'");
        }
        if (runtimeMillis == null && timeBased) {
            throw new IllegalArgumentException("--time_based needs --runtime: add it, as in --runtime=10s");
        }
        if (runtimeMillis != null && runtimeMillis == 0) {
            throw new IllegalArgumentException("--runtime must be more than 0; leave it out to move --size once");
        }
        long millis = runtimeMillis != null ? runtimeMillis : sizeBytes != null ? 0 : defaultRuntimeMillis;
        return new Workload(
                name,
                ReadWrite.of(readWrite),
                blockBytes(),
                iodepth,
                jobs,
                sizeBytes == null ? 0 : sizeBytes,
                millis,
                rampMillis != null ? rampMillis : defaultRampMillis,
                timeBased || (sizeBytes == null && !isVerify()),
                rwmixread,
                isVerify(),
                seed());
    }

    /** That of the options, or one made up. */
    long seed() {
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

    /** What job {@code i} is pinned to; empty for nothing. */
    int[] cpus() throws IOException {
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

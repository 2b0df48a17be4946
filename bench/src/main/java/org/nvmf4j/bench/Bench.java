package org.nvmf4j.bench;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.HdrHistogram.Histogram;
import org.nvmf4j.host.Controller;
import org.nvmf4j.host.Host;
import org.nvmf4j.host.HostException;
import org.nvmf4j.host.HostOptions;
import org.nvmf4j.host.Namespace;
import org.nvmf4j.host.ThreadingMode;
import org.nvmf4j.linux.CpuAffinity;

/** Runs a {@link Workload} against a namespace. Every job is a thread that polls its own I/O queue. */
public final class Bench {
    private Bench() {}

    /**
     * Where to run.
     *
     * @param target address and port of the controller
     * @param subsystemNqn of the subsystem
     * @param nsid of the namespace
     * @param label how reports name it
     */
    public record Location(InetSocketAddress target, String subsystemNqn, int nsid, String label) {}

    /**
     * Connects, runs, disconnects.
     *
     * @param options of the host; threads and queues are set by the workload
     * @param cpus what job {@code i} is pinned to, {@code cpus[i % cpus.length]}; empty for none
     * @throws IOException with one line: no connection, a request that failed, or data that is wrong
     */
    public static BenchResult run(
            Workload workload, Location location, HostOptions.Builder options, int[] cpus, Stop stop)
            throws IOException {
        try (Host host = Host.open(location.target().getAddress(), hostOptions(workload, options));
                Controller controller = host.connect(location.target(), location.subsystemNqn())) {
            return run(workload, location, host, controller, cpus, stop);
        }
    }

    /** Sets what a host must be like to run a workload: its queues, and threads that poll. */
    public static HostOptions hostOptions(Workload workload, HostOptions.Builder options) {
        return options.threading(ThreadingMode.CALLER_THREAD)
                .ioQueues(workload.jobs())
                .queueSize(Math.max(2, workload.iodepth() + 1))
                .build();
    }

    /**
     * Runs on a connection that there is, which stays.
     *
     * @param host with {@link #hostOptions}
     * @param cpus what job {@code i} is pinned to, {@code cpus[i % cpus.length]}; empty for none
     * @throws IOException with one line: a request that failed, or data that is wrong
     */
    public static BenchResult run(
            Workload workload, Location location, Host host, Controller controller, int[] cpus, Stop stop)
            throws IOException {
        if (controller.ioQueueCount() < workload.jobs()) {
            throw new HostException("the target grants " + controller.ioQueueCount()
                    + " I/O queues: numjobs can be that at most, not " + workload.jobs());
        }
        Namespace namespace = controller.namespace(location.nsid());
        long regionBytes = regionBytes(workload, namespace);
        List<BenchJob> jobs = new ArrayList<>();
        runJobs(workload, regionBytes, host, controller, namespace, cpus, stop, jobs);
        return sum(workload, location.label(), jobs, host.deviceCounters());
    }

    private static long regionBytes(Workload workload, Namespace namespace) throws HostException {
        int bs = workload.blockBytes();
        if (bs % namespace.blockBytes() != 0) {
            throw new HostException(
                    "bs must be a multiple of the namespace's block size " + namespace.blockBytes() + ", not " + bs);
        }
        long share = namespace.sizeBytes() / workload.jobs();
        long region = workload.sizeBytes() == 0 ? share : workload.sizeBytes();
        if (region > share) {
            throw new HostException("size " + region + " times " + workload.jobs() + " jobs exceeds the namespace's "
                    + namespace.sizeBytes() + " bytes: ask for " + share + " at most");
        }
        if (region < bs) {
            throw new HostException("the namespace has " + namespace.sizeBytes() + " bytes, less than bs for each job");
        }
        long blocks = region / bs;
        if (workload.verify() && workload.readWrite().writes() && blocks > Integer.MAX_VALUE - 8) {
            throw new HostException("verify keeps count of every block: ask for a smaller size or a larger bs");
        }
        return blocks * bs;
    }

    private static void runJobs(
            Workload workload,
            long regionBytes,
            Host host,
            Controller controller,
            Namespace namespace,
            int[] cpus,
            Stop stop,
            List<BenchJob> jobs)
            throws IOException {
        int count = workload.jobs();
        Stop failed = new Stop(stop); // one job's failure ends the others, and nothing beyond this run
        CountDownLatch ready = new CountDownLatch(count);
        List<FutureTask<BenchJob>> tasks = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int index = i;
            FutureTask<BenchJob> task = new FutureTask<>(() -> {
                try {
                    BenchJob job;
                    try {
                        if (cpus.length > 0) {
                            CpuAffinity.pinCurrentThread(cpus[index % cpus.length]);
                        }
                        job = new BenchJob(workload, index, regionBytes, host, controller, namespace);
                    } finally {
                        ready.countDown();
                    }
                    try {
                        ready.await();
                        job.run(failed);
                    } finally {
                        job.close();
                    }
                    return job;
                } catch (IOException | RuntimeException e) {
                    failed.request();
                    throw e;
                }
            });
            tasks.add(task);
            Thread.ofPlatform().daemon().name("nvmf-job-" + index).start(task);
        }
        join(tasks, jobs);
    }

    private static void join(List<FutureTask<BenchJob>> tasks, List<BenchJob> jobs) throws IOException {
        Throwable failure = null;
        for (FutureTask<BenchJob> task : tasks) {
            try {
                jobs.add(task.get());
            } catch (ExecutionException e) {
                failure = failure == null ? e.getCause() : failure;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new HostException("interrupted", e);
            }
        }
        switch (failure) {
            case null -> {}
            case IOException e -> throw e;
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            default -> throw new HostException("a job failed", failure);
        }
    }

    private static BenchResult sum(
            Workload workload, String label, List<BenchJob> jobs, Map<String, Long> deviceCounters) {
        long verified = jobs.stream().mapToLong(BenchJob::verifiedBlocks).sum();
        return new BenchResult(
                workload,
                label,
                sum(jobs.stream().map(BenchJob::reads).toList()),
                sum(jobs.stream().map(BenchJob::writes).toList()),
                verified,
                deviceCounters);
    }

    private static DirectionResult sum(List<DirectionResult> parts) {
        Histogram all = parts.getFirst().latencyNanos().copy();
        all.reset();
        long ios = 0;
        long bytes = 0;
        long nanos = 0;
        for (DirectionResult part : parts) {
            all.add(part.latencyNanos());
            ios += part.ios();
            bytes += part.bytes();
            nanos = Math.max(nanos, part.runtimeNanos());
        }
        return new DirectionResult(ios, bytes, nanos, all);
    }
}

package org.nvmf4j.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.bench.Bench;
import org.nvmf4j.bench.BenchResult;
import org.nvmf4j.bench.FioJson;
import org.nvmf4j.bench.FioText;
import org.nvmf4j.bench.Stop;
import org.nvmf4j.bench.Workload;
import org.nvmf4j.host.HostOptions;
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
            "and works in a region of its own.",
            "To tell whether a change helps, see 'nvmf bench compare --help'."
        })
final class BenchCommand implements Callable<Integer> {
    private static final long DEFAULT_RUNTIME_MILLIS = 10_000;

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

    @Mixin
    private WorkloadMixin work;

    @Mixin
    private PostMixin post;

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
        Workload workload = work.workload(DEFAULT_RUNTIME_MILLIS, 0);
        int[] pinning = work.cpus();
        NamespaceUri uri = new NamespaceUri(fabric.target(), nqn, namespace.nsid);
        HostOptions options = Bench.hostOptions(workload, fabric.host.options(post.inlineUse));
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
}

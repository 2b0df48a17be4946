package org.nvmf4j.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.bench.Bench;
import org.nvmf4j.bench.FioText;
import org.nvmf4j.bench.Stop;
import org.nvmf4j.bench.Workload;
import org.nvmf4j.bench.compare.Arm;
import org.nvmf4j.bench.compare.Comparison;
import org.nvmf4j.bench.compare.ComparisonReport;
import org.nvmf4j.bench.compare.Machine;
import org.nvmf4j.bench.compare.Metric;
import org.nvmf4j.bench.compare.Plan;
import org.nvmf4j.verbs.DeviceAttributes;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code nvmf bench compare}. */
@Command(
        name = CompareCommand.NAME,
        description = "Run a workload under two or more arms in turns, and say what the difference is.",
        footer = {
            "",
            "Each round runs every arm once, on a connection of its own, in random order;",
            "the first arm is what the others are compared with. Without --traddr the target",
            "is a process of its own with a null namespace, on loopback or, with --provider ibverbs,",
            "on the same device. A run takes --runtime, here 200 ms by default, after a --ramp_time",
            "of 50 ms: many short rounds bear more than a few long ones where the machine changes",
            "its pace. For example:",
            "",
            "  nvmf bench compare",
            "  nvmf bench compare --bs 128k --a \"--iodepth 4\" --b \"--iodepth 8\""
        })
final class CompareCommand implements Callable<Integer> {
    static final String NAME = "bench compare";

    private static final String OWN_NQN = "nqn.2026-11.org.nvmf4j:compare";
    private static final String OWN_NAMESPACE = "null:8G";
    private static final long DEFAULT_RUNTIME_MILLIS = 200;
    private static final long DEFAULT_RAMP_MILLIS = 50;
    private static final int MIN_PAIRS = 2;
    private static final Duration SIGNAL_DELAY = Duration.ofMillis(300);

    @Option(
            names = "--arms",
            paramLabel = "ARM",
            split = ",",
            description = "Ways to post small messages, as --post has them, two or more "
                    + "(default: reference,inline,asked-not-used).")
    private List<String> arms = List.of();

    @Option(
            names = "--a",
            paramLabel = "OPTIONS",
            description = "Instead of --arms: bench options of the one arm, in quotation marks, and ...")
    private @Nullable String a;

    @Option(names = "--b", paramLabel = "OPTIONS", description = "... bench options of the other.")
    private @Nullable String b;

    @Option(
            names = "--pairs",
            paramLabel = "N",
            defaultValue = "160",
            description = "Rounds (default: ${DEFAULT-VALUE}).")
    private int pairs = 160;

    @Option(
            names = "--warmup",
            paramLabel = "N",
            defaultValue = "10",
            description = "Rounds before, which do not count (default: ${DEFAULT-VALUE}).")
    private int warmUps = 10;

    @Option(
            names = "--report",
            paramLabel = "FOLDER",
            description = "Where the report goes (default: nvmf-compare- and the time, in the current folder).")
    private @Nullable Path reportFolder;

    @Option(
            names = {"-a", "--traddr"},
            paramLabel = "ADDR",
            description = "Address of a target: IPv4, IPv6 or a name (default: a target of this command's own).")
    private @Nullable String traddr;

    @Option(
            names = {"-s", "--trsvcid"},
            paramLabel = "SVC",
            defaultValue = "4420",
            description = "Port of that target (default: ${DEFAULT-VALUE}).")
    private int trsvcid = Addresses.DEFAULT_PORT;

    @Option(
            names = {"-n", "--nqn"},
            paramLabel = "NQN",
            converter = NqnConverter.class,
            description = "NQN of a subsystem of that target.")
    private @Nullable String nqn;

    @Mixin
    private NamespaceMixin namespace;

    @Mixin
    private WorkloadMixin work;

    /** What is given is parsed again for each arm, see {@link ArmOptions}. */
    @Mixin
    private HostMixin host;

    @Spec
    private CommandSpec spec;

    /** An arm before it is known where it runs. */
    private record NamedArm(String name, String description, ArmOptions options) {}

    /** Whom the arms run against, and how a report names it. */
    private record Peer(InetSocketAddress address, String nqn, int nsid, String label) {}

    @Override
    public @Nullable Integer call() throws IOException {
        List<NamedArm> named = namedArms();
        Plan plan = new Plan(
                Ranges.require("--pairs", pairs, MIN_PAIRS, Plan.MAX_PAIRS),
                Ranges.require("--warmup", warmUps, 0, Plan.MAX_PAIRS),
                work.seed());
        Peer peer = peer();
        Path folder = newFolder();
        try {
            return Interrupt.guard(interrupt -> {
                if (peer != null) {
                    compare(named, plan, peer, folder, interrupt);
                    return;
                }
                try (TargetProcess target = TargetProcess.start(host.device, OWN_NQN, OWN_NAMESPACE)) {
                    Peer own =
                            new Peer(target.address(), OWN_NQN, 1, "a process of its own, namespace " + OWN_NAMESPACE);
                    compare(named, plan, own, folder, interrupt);
                }
            });
        } finally {
            deleteIfEmpty(folder);
        }
    }

    /** The target that the user names, or null. */
    private @Nullable Peer peer() throws IOException {
        if (traddr != null && nqn != null) {
            InetSocketAddress address = new InetSocketAddress(
                    Addresses.lookUp(traddr), Ranges.require("--trsvcid", trsvcid, 1, Addresses.MAX_PORT));
            NamespaceUri uri = new NamespaceUri(address, nqn, namespace.nsid);
            return new Peer(address, uri.nqn(), uri.nsid(), uri.toString());
        }
        if (traddr != null) {
            throw new IllegalArgumentException("--traddr needs --nqn too, the subsystem to connect to");
        }
        for (String option : List.of("--nqn", "--trsvcid", "--namespace-id")) {
            if (spec.commandLine().getParseResult().hasMatchedOption(option)) {
                throw new IllegalArgumentException(option + " needs --traddr too, the target's address");
            }
        }
        return null;
    }

    /** Makes the report's folder, before anything is measured that could be lost for want of it. */
    private Path newFolder() throws IOException {
        Path folder = reportFolder != null
                ? reportFolder
                : Path.of("nvmf-compare-"
                        + DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss")
                                .withZone(ZoneId.systemDefault())
                                .format(Instant.now()));
        try {
            Files.createDirectories(folder);
        } catch (IOException e) {
            throw new IOException("cannot make the report's folder " + folder + "; name another with --report", e);
        }
        if (Files.exists(folder.resolve(ComparisonReport.PAGE))) {
            throw new IllegalArgumentException(
                    "--report " + folder + " has a report already; name another folder or move that one away");
        }
        if (!Files.isWritable(folder)) {
            throw new IOException("cannot write to the report's folder " + folder + "; name another with --report");
        }
        return folder;
    }

    private static void deleteIfEmpty(Path folder) throws IOException {
        try {
            Files.delete(folder);
        } catch (DirectoryNotEmptyException e) {
            return; // the report, or what was there before
        }
    }

    /** Finds what is wrong with an arm's options before anything is opened. */
    private static void check(NamedArm arm) throws IOException {
        try {
            ArmOptions options = arm.options();
            Bench.hostOptions(workload(arm), options.host.options(options.post.inlineUse));
            options.work.cpus();
            if (options.host.device.pcapFile != null) {
                throw new IllegalArgumentException("--pcap is not possible here: every run would begin the file anew");
            }
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("arm " + arm.name() + ": " + e.getMessage(), e);
        }
    }

    private List<NamedArm> namedArms() throws IOException {
        if (a != null || b != null) {
            if (a == null || b == null || !arms.isEmpty()) {
                throw new IllegalArgumentException("--a and --b go together, without --arms");
            }
            return List.of(named("a", a, "--a"), named("b", b, "--b"));
        }
        List<String> names = arms.isEmpty()
                ? Stream.of(PostMixin.Way.values()).map(PostMixin.Way::label).toList()
                : arms;
        if (names.size() < 2 || names.stream().distinct().count() < names.size()) {
            throw new IllegalArgumentException(
                    "--arms needs two or more different arms, not " + String.join(",", names));
        }
        List<NamedArm> named = new ArrayList<>();
        for (String name : names) {
            named.add(named(name, description(name), PostMixin.OPTION + "=" + name, "--arms"));
        }
        return named;
    }

    private static String description(String name) {
        try {
            return PostMixin.Way.of(name).description();
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("--arms: " + e.getMessage(), e);
        }
    }

    /** One of two arms that the user describes by options. */
    private NamedArm named(String name, String options, String label) throws IOException {
        String own = options.isBlank() ? "nothing else" : options.strip();
        NamedArm arm = named(name, own, options, label);
        return new NamedArm(name, own + " (" + describe(workload(arm)) + ")", arm.options());
    }

    private NamedArm named(String name, String description, String options, String label) throws IOException {
        NamedArm arm = new NamedArm(
                name, description, ArmOptions.parse(spec.commandLine().getParseResult(), label, options));
        check(arm);
        return arm;
    }

    private static Workload workload(NamedArm arm) {
        return arm.options().work.workload(DEFAULT_RUNTIME_MILLIS, DEFAULT_RAMP_MILLIS);
    }

    private void compare(List<NamedArm> named, Plan plan, Peer peer, Path folder, Interrupt interrupt)
            throws IOException {
        Stop stop = new Stop();
        Map<String, String> setting = new LinkedHashMap<>(setting(named, plan, peer, interrupt));
        interrupt.stopBy(stop::request);
        List<Arm> arms = named.stream()
                .map(arm -> new Arm(arm.name(), arm.description(), seed -> run(arm, peer, seed, stop, interrupt)))
                .toList();
        Comparison comparison;
        try (Progress progress = Progress.of("compare", plan.warmUps() + plan.pairs(), "round")) {
            comparison = Comparison.run(arms, plan, stop, (done, _) -> progress.reach(done));
        }
        IOException failure = comparison.failure();
        if (comparison.pairs() < MIN_PAIRS) {
            throw failure != null
                    ? failure
                    : new IOException("ended before two pairs were complete: there is nothing to report");
        }
        boolean early = comparison.pairs() < plan.pairs();
        setting.put(
                "pairs",
                comparison.pairs() + (early ? " of " + plan.pairs() + ", ended early," : "") + " after "
                        + plan.warmUps() + " rounds of warm-up");
        List<Metric> metrics = a == null ? List.of(Metric.MEAN) : List.of(Metric.MEAN, Metric.IOPS);
        report(
                new ComparisonReport(comparison, title(named), metrics, setting, commandLine(plan), Instant.now()),
                folder);
        if (failure != null) {
            throw new IOException(
                    failure.getMessage() + "; the report has the " + comparison.pairs() + " pairs that were complete",
                    failure);
        }
    }

    private static org.nvmf4j.bench.BenchResult run(NamedArm arm, Peer peer, long seed, Stop stop, Interrupt interrupt)
            throws IOException {
        ArmOptions options = arm.options();
        try {
            return Bench.run(
                    workload(arm).withSeed(seed),
                    new Bench.Location(peer.address(), peer.nqn(), peer.nsid(), peer.label()),
                    options.host.options(options.post.inlineUse),
                    options.work.cpus(),
                    stop);
        } catch (IOException e) {
            // Ctrl-C reaches a target of this command's own as well, and perhaps sooner.
            if (interrupt.isSignalledWithin(SIGNAL_DELAY)) {
                stop.request();
            }
            throw e;
        }
    }

    /** What ran where; asks the target, so that what is wrong shows before anything is measured. */
    private Map<String, String> setting(List<NamedArm> named, Plan plan, Peer peer, Interrupt interrupt)
            throws IOException {
        NamedArm first = named.getFirst();
        DeviceAttributes device;
        try (Session session = Session.open(
                peer.address(),
                peer.nqn(),
                Bench.hostOptions(workload(first), first.options().host.options()),
                interrupt,
                spec)) {
            session.controller().namespace(peer.nsid());
            device = session.host().device();
        }
        Map<String, String> setting = new LinkedHashMap<>();
        if (a == null) {
            setting.put("workload", describe(workload(first)));
        }
        setting.put("target", peer.label());
        setting.put(
                "provider",
                device.provider() + ", path MTU " + device.pathMtuBytes() + (a == null ? "" : " of the first arm"));
        setting.put("pinning", pinning(first));
        setting.put("seed", Long.toString(plan.seed()));
        setting.putAll(Machine.describe());
        return setting;
    }

    private static String describe(Workload workload) {
        String runtime = workload.runtimeMillis() == 0
                ? "moves " + FioText.bytes((double) workload.sizeBytes())
                : workload.runtimeMillis() + " ms";
        return FioText.summary(workload) + ", " + runtime + " a run after a ramp of " + workload.rampMillis() + " ms";
    }

    private static String pinning(NamedArm arm) throws IOException {
        int[] cpus = arm.options().work.cpus();
        return cpus.length == 0
                ? "none"
                : "job i to the i-th of CPUs "
                        + java.util.Arrays.stream(cpus)
                                .mapToObj(Integer::toString)
                                .collect(Collectors.joining(","));
    }

    private static String title(List<NamedArm> named) {
        return named.stream().map(NamedArm::name).collect(Collectors.joining(", ")) + " compared";
    }

    /** What repeats this comparison: the command line, and the seed if it was made up. */
    private String commandLine(Plan plan) {
        List<String> words = new ArrayList<>();
        words.add("nvmf");
        for (String word : spec.commandLine().getParseResult().originalArgs()) {
            words.add(
                    word.equals(NAME) || word.matches("[\\w./:=,@%+-]+")
                            ? word
                            : "'" + word.replace("'", "'\\''") + "'");
        }
        if (!spec.commandLine().getParseResult().hasMatchedOption("--randseed")) {
            words.add("--randseed=" + plan.seed());
        }
        return String.join(" ", words);
    }

    private void report(ComparisonReport report, Path folder) throws IOException {
        PrintWriter out = spec.commandLine().getOut();
        out.print(report.text());
        out.flush();
        out.println("report: " + report.writeTo(folder) + ", with compare.json and compare.md beside it");
        out.flush();
    }
}

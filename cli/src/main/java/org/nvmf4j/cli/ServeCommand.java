package org.nvmf4j.cli;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.bench.FioText;
import org.nvmf4j.pcie.Drives;
import org.nvmf4j.pcie.SysfsPeerMemoryProvider;
import org.nvmf4j.target.Namespace;
import org.nvmf4j.target.NamespaceSpec;
import org.nvmf4j.target.PeerMemoryChoice;
import org.nvmf4j.target.PeerMemoryStatistics;
import org.nvmf4j.target.Subsystem;
import org.nvmf4j.target.Target;
import org.nvmf4j.target.TargetOptions;
import org.nvmf4j.target.TargetStatistics;
import org.nvmf4j.target.spi.DriveOpener;
import org.nvmf4j.verbs.AddressText;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceAttributes;
import org.nvmf4j.verbs.DeviceOptions;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code nvmf serve}. */
@Command(
        name = "serve",
        description = "Export namespaces over NVMe/RDMA until interrupted.",
        footer = {
            "",
            "SPEC is " + NamespaceSpec.FORM + ".",
            "Sizes are bytes, or a number with k, M, G or T. A file may be a block device.",
            "pcie takes an NVMe drive that is bound to vfio-pci, without the kernel's block",
            "layer (nvmf pcie list); its memory buffer is peer memory, if it has one, and",
            "holds its submission queues with use_cmb_sqs=1.",
            "p2pmem has the data pass through peer memory: 0 off, 1 the nearest that the RDMA",
            "device and the backend reach, or the PCI address of a device (nvmf p2p explain).",
            "Every --listen address is a device of its own; --pcap is possible with one",
            "address, on any number of ports."
        })
final class ServeCommand implements Callable<Integer> {
    static final String DEFAULT_NQN = "nqn.2026-11.org.nvmf4j:target";

    /** For a target that a command starts for itself: it ends with that process, however that ends. */
    static final String PARENT_OPTION = "--parent";

    private static final int MAX_IN_CAPSULE_DATA_BYTES = 16384;
    private static final int MAX_LANES = 64;

    @Option(
            names = "--listen",
            paramLabel = "ADDR[:PORT]",
            defaultValue = "127.0.0.1",
            description = "Where to listen; may be repeated (default: ${DEFAULT-VALUE}, port 4420).")
    private List<String> listen = List.of();

    @Option(
            names = {"-n", "--nqn"},
            paramLabel = "NQN",
            defaultValue = DEFAULT_NQN,
            converter = NqnConverter.class,
            description = "NQN of the subsystem (default: ${DEFAULT-VALUE}).")
    private String nqn = DEFAULT_NQN;

    @Option(
            names = "--ns",
            paramLabel = "SPEC",
            required = true,
            description = "A namespace; may be repeated, NSIDs count from 1.")
    private List<String> namespaces = List.of();

    @Option(
            names = "--allow-host",
            paramLabel = "NQN",
            converter = NqnConverter.class,
            description = "Let only this host connect; may be repeated (default: any host).")
    private List<String> allowedHosts = List.of();

    @Option(
            names = "--inline-data-size",
            paramLabel = "BYTES",
            defaultValue = "4096",
            converter = Sizes.class,
            description = "In-capsule data of I/O queues, 0 to 16384 (default: ${DEFAULT-VALUE}).")
    private long inCapsuleDataBytes = TargetOptions.SAFE_IN_CAPSULE_DATA_BYTES;

    @Option(
            names = "--max-queue-size",
            paramLabel = "N",
            defaultValue = "1024",
            description = "Entries of an I/O queue at most, 2 to 1024 (default: ${DEFAULT-VALUE}).")
    private int maxQueueSize = TargetOptions.defaults().maxQueueSize();

    @Option(
            names = "--lanes",
            paramLabel = "N",
            defaultValue = "1",
            description = "Threads that share the queues (default: ${DEFAULT-VALUE}).")
    private int lanes = 1;

    @Option(names = PARENT_OPTION, paramLabel = "PID", hidden = true, description = "End when that process does.")
    private @Nullable Long parent;

    @Mixin
    private DeviceMixin device;

    @Mixin
    private PeerMemoryMixin peerMemory;

    @Spec
    private CommandSpec spec;

    @Override
    public @Nullable Integer call() throws IOException {
        List<NamespaceSpec> specs =
                namespaces.stream().map(NamespaceSpec::parse).toList();
        checkMemory(specs);
        if ((!peerMemory.rawBars.isEmpty() || !peerMemory.isThisMachine())
                && specs.stream().noneMatch(ServeCommand::wantsPeerMemory)) {
            throw new IllegalArgumentException((peerMemory.rawBars.isEmpty() ? "--sysfs" : "--allow-raw-bar")
                    + " offers peer memory that no --ns asks for: add ,p2pmem=1 or ,p2pmem=BDF to one");
        }
        device.check();
        TargetOptions options = TargetOptions.builder()
                .inCapsuleDataBytes(inCapsuleDataBytes())
                .maxQueueSize(Ranges.require("--max-queue-size", maxQueueSize, 2, 1024))
                .build();
        Ranges.require("--lanes", lanes, 1, MAX_LANES);
        PrintWriter err = spec.commandLine().getErr();
        if (options.inCapsuleDataBytes() > TargetOptions.SAFE_IN_CAPSULE_DATA_BYTES) {
            err.println(
                    "nvmf serve: warning: with more than 4096 bytes of in-capsule data Linux 5.4 to 5.12 hosts can corrupt"
                            + " writes; leave --inline-data-size at 4096 for them");
            err.flush();
        }
        Map<InetAddress, List<InetSocketAddress>> ports = ports();
        Subsystem subsystem = new Subsystem(nqn);
        if (!allowedHosts.isEmpty()) {
            subsystem.allowHosts(new HashSet<>(allowedHosts));
        }
        SysfsPeerMemoryProvider memories =
                specs.stream().anyMatch(ServeCommand::wantsPeerMemory) ? peerMemory.provider() : null;
        DriveOpener drives = Drives.throughVfio(buffer -> {
            if (memories != null) {
                memories.add(buffer);
            }
        });
        CountDownLatch stop = new CountDownLatch(1);
        List<Device> devices = new ArrayList<>();
        if (parent != null) {
            var _ = ProcessHandle.of(parent)
                    .map(ProcessHandle::onExit)
                    .orElseGet(() -> CompletableFuture.completedFuture(null))
                    .thenRun(stop::countDown);
        }
        try (Interrupt _ = Interrupt.onSignal(stop::countDown, 0)) {
            Target target;
            try {
                subsystem.addNamespaces(specs, drives);
                target = start(builder(options, subsystem, memories), ports, devices);
            } catch (IOException | RuntimeException e) {
                // A drive is shut down, not dropped.
                subsystem
                        .namespaces()
                        .forEach(namespace ->
                                subsystem.removeNamespace(namespace.nsid()).join());
                throw e;
            }
            serve(target, subsystem, devices, stop);
        } finally {
            devices.forEach(Device::close);
        }
        return 0;
    }

    private int inCapsuleDataBytes() {
        if (inCapsuleDataBytes > MAX_IN_CAPSULE_DATA_BYTES || inCapsuleDataBytes % 16 != 0) {
            throw new IllegalArgumentException(
                    "--inline-data-size must be 0 to 16384 and a multiple of 16, not " + inCapsuleDataBytes);
        }
        return (int) inCapsuleDataBytes;
    }

    private Map<InetAddress, List<InetSocketAddress>> ports() throws IOException {
        Map<InetAddress, List<InetSocketAddress>> ports = new LinkedHashMap<>();
        for (String text : listen) {
            InetSocketAddress address = Addresses.parseListen(text);
            ports.computeIfAbsent(address.getAddress(), a -> new ArrayList<>()).add(address);
        }
        if (device.pcapFile != null && ports.size() > 1) {
            throw new IllegalArgumentException(
                    "--pcap takes one --listen address: several devices cannot write one file");
        }
        return ports;
    }

    /** Memory is taken as it is written, but a namespace that can never be written whole is a mistake. */
    private static void checkMemory(List<NamespaceSpec> specs) {
        BigInteger wanted = specs.stream()
                .filter(spec -> spec.kind() == NamespaceSpec.Kind.MEM)
                .map(spec -> BigInteger.valueOf(spec.sizeBytes()))
                .reduce(BigInteger.ZERO, BigInteger::add);
        if (wanted.signum() > 0
                && ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean system
                && wanted.compareTo(BigInteger.valueOf(system.getTotalMemorySize())) > 0) {
            throw new IllegalArgumentException("--ns mem: asks for " + FioText.bytes(wanted.doubleValue())
                    + ", this machine has " + FioText.bytes((double) system.getTotalMemorySize())
                    + " of memory: use less, or file:PATH,size=SIZE or null:SIZE");
        }
    }

    private static Target.Builder builder(
            TargetOptions options, Subsystem subsystem, @Nullable SysfsPeerMemoryProvider memories) {
        Target.Builder builder = Target.builder().options(options).subsystem(subsystem);
        if (memories != null) {
            builder.peerMemory(memories);
        }
        return builder;
    }

    private Target start(Target.Builder builder, Map<InetAddress, List<InetSocketAddress>> ports, List<Device> devices)
            throws IOException {
        for (Map.Entry<InetAddress, List<InetSocketAddress>> entry : ports.entrySet()) {
            Device opened = Device.open(
                    device.provider,
                    device.applyTo(DeviceOptions.at(entry.getKey()).withVectors(lanes)));
            devices.add(opened);
            for (InetSocketAddress port : entry.getValue()) {
                builder.listen(opened, port.getPort());
            }
        }
        try {
            return builder.start();
        } catch (IllegalArgumentException e) {
            // What this machine does not allow is no fault of the command line.
            throw new IOException(e.getMessage(), e);
        }
    }

    private static boolean wantsPeerMemory(NamespaceSpec spec) {
        return spec.peerMemory().kind() != PeerMemoryChoice.Kind.OFF;
    }

    private static boolean wantsPeerMemory(Namespace namespace) {
        return namespace.peerMemory().kind() != PeerMemoryChoice.Kind.OFF;
    }

    private void serve(Target started, Subsystem subsystem, List<Device> devices, CountDownLatch stop) {
        try (Target target = started) {
            PrintWriter out = spec.commandLine().getOut();
            out.println("ready: " + describe(target, subsystem, devices));
            out.flush();
            stop.await();
            if (Verbosity.of(spec.commandLine())) {
                out.println(describe(target.statistics()));
                if (subsystem.namespaces().stream().anyMatch(ServeCommand::wantsPeerMemory)) {
                    out.println(describe(target.peerMemoryStatistics()));
                }
                devices.forEach(opened -> out.println(
                        "device " + AddressText.of(opened.attributes().localAddress()) + ": "
                                + Counters.line(opened.counters())));
                out.flush();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The provider, the device where it has a name of its own, and the path MTU. */
    private static String describe(DeviceAttributes device) {
        String name = device.name().startsWith(device.provider()) ? "" : " on " + device.name();
        return device.provider() + name + ", path MTU " + device.pathMtuBytes();
    }

    private static String describe(Target target, Subsystem subsystem, List<Device> devices) {
        String where = target.ports().stream().map(AddressText::of).collect(Collectors.joining(", "));
        String what = subsystem.namespaces().stream()
                .map(namespace ->
                        namespace.nsid() + " (" + Sizes.format(namespace.blocks() * namespace.blockSizeBytes()) + ")")
                .collect(Collectors.joining(", "));
        String how = devices.stream()
                .map(device -> describe(device.attributes()))
                .distinct()
                .collect(Collectors.joining("; "));
        return "listening on " + where + " (" + how + "), subsystem " + subsystem.nqn() + ", namespaces " + what;
    }

    private static String describe(PeerMemoryStatistics s) {
        String fallbacks = s.fallbacks().entrySet().stream()
                .sorted(Map.Entry.comparingByKey())
                .map(entry ->
                        entry.getKey().toString().toLowerCase(Locale.ROOT).replace('_', ' ') + " " + entry.getValue())
                .collect(Collectors.joining(", "));
        return "peer memory: " + Sizes.format(s.bytes()) + " in " + s.buffers() + " buffers, lost " + s.lost()
                + "; system memory instead: " + fallbacks;
    }

    private static String describe(TargetStatistics s) {
        return "stopped: connections " + s.connectionsAccepted() + ", rejected " + s.connectionsRejected() + ", failed "
                + s.connectionsFailed() + ", commands " + s.commands() + ", errors " + s.commandErrors()
                + ", waits for a buffer " + s.bufferWaits();
    }
}

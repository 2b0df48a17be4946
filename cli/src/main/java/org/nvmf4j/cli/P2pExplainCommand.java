package org.nvmf4j.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.linux.NetworkRoutes;
import org.nvmf4j.pcie.DeviceFinder;
import org.nvmf4j.pcie.PciAddress;
import org.nvmf4j.pcie.PciTopology;
import org.nvmf4j.pcie.SysfsPeerMemoryProvider;
import org.nvmf4j.target.NamespaceSpec;
import org.nvmf4j.target.PeerMemoryChoice;
import org.nvmf4j.target.spi.PeerClient;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code nvmf p2p explain}. */
@Command(
        name = "explain",
        description = "Say which peer memory 'nvmf serve' would take for a namespace, and why.",
        footer = {
            "",
            "SPEC is " + NamespaceSpec.FORM + ".",
            "Without p2pmem= in it: what p2pmem=1 would pick. Nothing is opened or made, so a",
            "file counts as one for direct I/O, if it does not say direct=off, and the",
            "memory buffer of a drive that is bound to vfio-pci is not known: have",
            "--allow-raw-bar stand for it."
        })
final class P2pExplainCommand implements Callable<Integer> {
    private static final String DEFAULT_LISTEN = "127.0.0.1";

    @Option(names = "--ns", paramLabel = "SPEC", required = true, description = "The namespace.")
    private String namespace = "";

    @Option(
            names = "--listen",
            paramLabel = "ADDR[:PORT]",
            description = "Where the target would listen, on this machine (default: " + DEFAULT_LISTEN + ").")
    private @Nullable String listen;

    @Option(
            names = "--rdma-device",
            paramLabel = "NAME|BDF",
            description = "The RDMA device in place of --listen, by its name or its PCI address.")
    private @Nullable String rdmaDevice;

    @Mixin
    private PeerMemoryMixin machine;

    @Mixin
    private OutputMixin output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        NamespaceSpec parsed = NamespaceSpec.parse(namespace, PeerMemoryChoice.AUTO);
        if (listen != null && rdmaDevice != null) {
            throw new IllegalArgumentException("--listen and --rdma-device both name the RDMA device; leave one out");
        }
        SysfsPeerMemoryProvider provider = machine.provider();
        DeviceFinder finder = machine.finder();
        PeerClient rdma =
                rdmaDevice != null ? rdmaDevice(rdmaDevice, finder, provider.topology()) : rdmaDeviceAt(listen, finder);
        PeerMemoryChoice choice = parsed.peerMemory();
        boolean named = NamespaceSpec.parse(namespace).peerMemory().equals(choice);
        Explanation explanation = Explanation.of(
                named ? namespace : namespace + ",p2pmem=" + choice,
                choice,
                provider,
                List.of(rdma, backend(parsed, finder)));
        PrintWriter out = spec.commandLine().getOut();
        if (output.json()) {
            explanation.report().printJson(out);
        } else {
            explanation.tree().print(out);
        }
        out.flush();
        if (!explanation.refusal().isEmpty()) {
            throw new IOException(explanation.refusal());
        }
        return 0;
    }

    /** The device that a target on this machine would open at the address. */
    private PeerClient rdmaDeviceAt(@Nullable String where, DeviceFinder finder) throws IOException {
        if (where == null && !machine.isThisMachine()) {
            throw new IllegalArgumentException("with --sysfs name the RDMA device by --rdma-device: " + choices(finder)
                    + "; or --listen, if a target on this machine is to read the tree");
        }
        InetAddress address =
                Addresses.parseListen(where == null ? DEFAULT_LISTEN : where).getAddress();
        NetworkRoutes.interfaceOf(address);
        return new PeerClient.RdmaDevice(Device.nameOf(Device.ANY_PROVIDER, DeviceOptions.at(address)));
    }

    private static PeerClient rdmaDevice(String text, DeviceFinder finder, PciTopology topology) throws IOException {
        Optional<PciAddress> address = PciAddress.find(text);
        if (address.isPresent()) {
            if (topology.function(address.get()).isEmpty()) {
                throw new IOException(
                        "--rdma-device: there is no PCI function " + address.get() + "; use " + choices(finder));
            }
            return new PeerClient.PciFunction(address.get().toString(), "RDMA device");
        }
        if (!finder.rdmaDevices().contains(text)) {
            throw new IOException("--rdma-device: there is no RDMA device '" + text + "'; use " + choices(finder));
        }
        return new PeerClient.RdmaDevice(text);
    }

    private static String choices(DeviceFinder finder) throws IOException {
        List<String> names = finder.rdmaDevices();
        return names.isEmpty()
                ? "a PCI address, for no RDMA device is there"
                : "one of " + String.join(", ", names) + ", or a PCI address";
    }

    /** What moves the namespace's data. A file that a target would make lies where its folder does. */
    private PeerClient backend(NamespaceSpec parsed, DeviceFinder finder) throws IOException {
        PeerClient client = parsed.peerClient();
        if (!(client instanceof PeerClient.File(Path path))) {
            return client;
        }
        Path absolute = path.toAbsolutePath();
        Path folder = absolute.getParent();
        if (Path.of("/dev").equals(folder) && finder.hasBlockDevice(String.valueOf(absolute.getFileName()))) {
            return client;
        }
        if (!machine.isThisMachine()) {
            throw new IOException("there is no block device " + path + " in " + machine.sysfs
                    + "; with --sysfs name one that is, as in file:/dev/nvme0n1");
        }
        if (Files.exists(path)) {
            return client;
        }
        if (parsed.sizeBytes() > 0 && folder != null && Files.isDirectory(folder)) {
            return new PeerClient.File(folder);
        }
        throw new NoSuchFileException(path + "; with ,size=SIZE a target makes it, if its folder exists");
    }
}

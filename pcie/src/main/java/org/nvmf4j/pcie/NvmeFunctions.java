package org.nvmf4j.pcie;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.ControllerMemoryBuffer;
import org.nvmf4j.pcie.NvmeFunction.GroupMate;
import org.nvmf4j.pcie.NvmeFunction.Namespace;

/**
 * Finds NVMe functions in sysfs, their drivers, IOMMU groups and block devices, and what of these is mounted or held, by {@code
 * proc/self/mountinfo} and {@code proc/swaps} beside the tree. Each look reads anew, and changes nothing. Thread-safe.
 */
public final class NvmeFunctions {
    private static final int CLASS_NVME = 0x010802;
    private static final int CLASS_BRIDGE = 0x06;
    /** A block device, or with {@code c} the path that a controller is to one of several controllers. */
    private static final Pattern NAMESPACE = Pattern.compile("(nvme\\d+)(?:c\\d+)?(n\\d+)");

    private final Path sysfs;
    private final Path devices;
    private final Path proc;

    /** @param sysfs {@link PciTopology#SYSFS} or a copy of another machine's */
    public NvmeFunctions(Path sysfs) {
        this.sysfs = sysfs;
        devices = sysfs.resolve("bus/pci/devices");
        proc = sysfs.toAbsolutePath().resolveSibling("proc");
    }

    /** All that there are now, in the order of their addresses. */
    public List<NvmeFunction> list() throws IOException {
        List<PciAddress> addresses = new ArrayList<>();
        for (Path link : entries(devices)) {
            Optional<PciAddress> address = PciAddress.find(name(link));
            if (address.isPresent() && classCode(link) == CLASS_NVME) {
                addresses.add(address.get());
            }
        }
        List<NvmeFunction> functions = new ArrayList<>();
        Usage usage = new Usage(proc);
        for (PciAddress address : addresses.stream().sorted().toList()) {
            functions.add(read(address, usage));
        }
        return functions;
    }

    /** The function at an address, of whatever class. */
    public Optional<NvmeFunction> find(PciAddress address) throws IOException {
        return Files.exists(devices.resolve(address.toString()))
                ? Optional.of(read(address, new Usage(proc)))
                : Optional.empty();
    }

    private NvmeFunction read(PciAddress address, Usage usage) throws IOException {
        Path folder = devices.resolve(address.toString());
        String group = target(folder.resolve("iommu_group"));
        List<GroupMate> mates = new ArrayList<>();
        for (Path mate : entries(folder.resolve("iommu_group/devices"))) {
            PciAddress.find(name(mate))
                    .filter(other -> !other.equals(address))
                    .ifPresent(other -> mates.add(new GroupMate(
                            other,
                            target(devices.resolve(other.toString()).resolve("driver")),
                            classCode(devices.resolve(other.toString())) >>> 16 == CLASS_BRIDGE)));
        }
        mates.sort((one, other) -> one.address().compareTo(other.address()));
        List<Namespace> namespaces = new ArrayList<>();
        ControllerMemoryBuffer buffer = null;
        for (Path controller : entries(folder.resolve("nvme"))) {
            buffer = memoryBuffer(controller);
            for (Path entry : entries(controller)) {
                Matcher parts = NAMESPACE.matcher(name(entry));
                if (parts.matches()) {
                    namespaces.add(namespace(parts.group(1) + parts.group(2), usage));
                }
            }
        }
        namespaces.sort((one, other) -> one.name().compareTo(other.name()));
        return new NvmeFunction(
                address,
                target(folder.resolve("driver")),
                group.matches("\\d{1,9}") ? Integer.parseInt(group) : -1,
                mates,
                namespaces,
                buffer);
    }

    private Namespace namespace(String name, Usage usage) throws IOException {
        Path block = sysfs.resolve("class/block").resolve(name);
        List<String> uses = new ArrayList<>(usage.of(name, block));
        for (Path entry : entries(block)) {
            if (name(entry).startsWith(name + "p")) {
                uses.addAll(usage.of(name(entry), entry));
            }
        }
        return new Namespace(name, uses);
    }

    /** By attributes that newer drivers have where there is a buffer; that of Linux 6.1 does not show them. */
    private static @Nullable ControllerMemoryBuffer memoryBuffer(Path controller) {
        try {
            return ControllerMemoryBuffer.parse(
                    Integer.parseUnsignedInt(Sysfs.readText(controller.resolve("cmbloc"))),
                    Integer.parseUnsignedInt(Sysfs.readText(controller.resolve("cmbsz"))));
        } catch (IOException | NumberFormatException e) {
            return null;
        }
    }

    /** 0 of what is unplugged while we read. */
    private static int classCode(Path function) {
        try {
            return Sysfs.readHex(function.resolve("class"));
        } catch (IOException e) {
            return 0;
        }
    }

    /** The name of what a link points to, empty if there is none. */
    private static String target(Path link) {
        try {
            return name(Files.readSymbolicLink(link));
        } catch (IOException | UnsupportedOperationException e) {
            return "";
        }
    }

    private static String name(Path path) {
        return String.valueOf(path.getFileName());
    }

    private static List<Path> entries(Path folder) throws IOException {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (DirectoryStream<Path> stream = Files.newDirectoryStream(folder)) {
            List<Path> entries = new ArrayList<>();
            stream.forEach(entries::add);
            entries.sort(null);
            return entries;
        }
    }

    /** What the kernel does with block devices. */
    private static final class Usage {
        private final List<String> mounts;
        private final List<String> swaps;

        Usage(Path proc) {
            mounts = lines(proc.resolve("self/mountinfo"));
            swaps = lines(proc.resolve("swaps"));
        }

        private static List<String> lines(Path file) {
            try {
                return Files.readAllLines(file);
            } catch (IOException e) {
                return List.of();
            }
        }

        /** Who uses a device or a partition, for people. */
        List<String> of(String name, Path block) throws IOException {
            List<String> uses = new ArrayList<>();
            String number = number(block);
            for (String line : mounts) {
                // 36 35 98:0 /root /mount/point options fields... - type source options
                String[] words = line.split(" ", -1);
                int dash = List.of(words).indexOf("-");
                if (words.length > 5 && (words[2].equals(number) || isSource(words, dash, name))) {
                    uses.add(name + " is mounted on " + words[4]);
                }
            }
            for (String line : swaps) {
                if (line.startsWith("/dev/" + name + " ") || line.startsWith("/dev/" + name + "\t")) {
                    uses.add(name + " is swap space");
                }
            }
            for (Path holder : entries(block.resolve("holders"))) {
                uses.add(name + " is part of " + NvmeFunctions.name(holder));
            }
            return uses;
        }

        private static boolean isSource(String[] words, int dash, String name) {
            return dash > 0 && dash + 2 < words.length && words[dash + 2].equals("/dev/" + name);
        }

        private static String number(Path block) {
            try {
                return Sysfs.readText(block.resolve("dev"));
            } catch (IOException e) {
                return "";
            }
        }
    }
}

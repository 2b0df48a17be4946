package org.nvmf4j.testkit;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * Builds sysfs trees of PCI machines in a folder: functions in their place below a host bridge, configuration spaces
 * with PCI Express and ACS capabilities, devices on top, peer-to-peer memory. Addresses are texts such as {@code
 * 0000:03:00.0}.
 */
public final class SysfsTree {
    /** ACS Control: Request Redirect, Completion Redirect, as Linux sets them on root ports under an IOMMU. */
    public static final int ACS_REDIRECT = 0x1d;

    /** Vendor and device of a host bridge that Linux trusts to route. */
    public static final String ROUTING_HOST_BRIDGE = "8086:09a2";

    /** Vendor and device of a host bridge that Linux does not trust to route. */
    public static final String OTHER_HOST_BRIDGE = "8086:29c0";

    private static final int ROOT_PORT = 4;
    private static final int SWITCH_UPSTREAM_PORT = 5;
    private static final int SWITCH_DOWNSTREAM_PORT = 6;

    private final Path root;

    /**
     * An empty tree.
     *
     * @param root made if it does not exist; {@code proc/cpuinfo} is put beside it
     */
    public SysfsTree(Path root) {
        this.root = root;
        folder(root.resolve("bus/pci/devices"));
    }

    /**
     * A tree taken from a running machine: {@code switch} has a root port with a switch (NVMe 0000:03:00.0 and
     * 0000:04:00.0, NIC 0000:05:00.0) and a second with NVMe 0000:06:00.0, both with ACS redirect on; in {@code
     * switch-noiommu} it is off.
     */
    public static SysfsTree captured(String name, Path root) {
        SysfsTree tree = new SysfsTree(root);
        try (InputStream in = SysfsTree.class.getResourceAsStream(name + ".sysfs")) {
            if (in == null) {
                throw new IllegalArgumentException("no tree " + name);
            }
            byte[] config = new byte[0];
            Path configFile = root;
            for (String line : new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))
                    .lines()
                    .toList()) {
                String[] words = line.split(" ", -1);
                switch (words[0]) {
                    case "#" -> {}
                    case "function" -> {
                        configFile =
                                tree.addFunction(words[1], words[2], words[3]).resolve("config");
                        config = new byte[Integer.parseInt(words[4])];
                    }
                    case "link" -> tree.link(words[1], words[2]);
                    case "file" -> write(root.resolve(words[1]), words[2]);
                    default -> {
                        byte[] row = HexFormat.of().parseHex(words[1]);
                        System.arraycopy(row, 0, config, Integer.parseInt(words[0], 16), row.length);
                        Files.write(configFile, config);
                    }
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return tree;
    }

    /** The folder, to be used in place of {@code /sys}. */
    public Path root() {
        return root;
    }

    /** Writes {@code proc/cpuinfo} beside the tree. */
    public SysfsTree processor(String vendor, int family) {
        write(
                root.toAbsolutePath().resolveSibling("proc/cpuinfo"),
                "processor\t: 0\nvendor_id\t: " + vendor + "\ncpu family\t: " + family);
        return this;
    }

    /**
     * A host bridge with its function 00.0.
     *
     * @param name domain and root bus, {@code 0000:00}
     * @param ids vendor and device of its function, {@code 8086:29c0}
     */
    public Node hostBridge(String name, String ids) {
        Node bridge = hostBridgeWithoutFunction(name);
        bridge.add(name + ":00.0", ids, "060000", -1);
        return bridge;
    }

    /** A host bridge that shows no function of its own, as some platforms have them. */
    public Node hostBridgeWithoutFunction(String name) {
        return new Node("devices/pci" + name, "");
    }

    /** The function at an address, wherever it was put. */
    public Node function(String address) {
        try {
            Path real = root.resolve("bus/pci/devices").resolve(address).toRealPath();
            return new Node(root.toRealPath().relativize(real).toString(), address);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Has block devices mounted and used as swap space: {@code proc/self/mountinfo} and {@code proc/swaps} beside the tree.
     *
     * @param mounts as {@code 259:1 /dev/nvme0n1p1 /boot}, or with {@code swap} in the place of the folder
     */
    public SysfsTree mounts(String... mounts) {
        StringBuilder mountInfo = new StringBuilder();
        StringBuilder swaps = new StringBuilder("Filename\t\tType\t\tSize\tUsed\tPriority\n");
        for (String mount : mounts) {
            String[] words = mount.split(" ", -1);
            if (words[2].equals("swap")) {
                swaps.append(words[1]).append(" partition\t8\t0\t-2\n");
            } else {
                mountInfo.append(String.format(
                        "36 25 %s / %s rw,relatime shared:1 - ext4 %s rw%n", words[0], words[2], words[1]));
            }
        }
        Path proc = root.toAbsolutePath().resolveSibling("proc");
        write(proc.resolve("self/mountinfo"), mountInfo.toString());
        write(proc.resolve("swaps"), swaps.toString());
        return this;
    }

    /** A block device that is a part of another one, which is of the kernel's own making. */
    public void holder(String name, String holder) {
        folder(root.resolve("class/block").resolve(name).resolve("holders").resolve(holder));
    }

    /** A block device of the kernel's own making, such as {@code loop0}. */
    public void virtualBlockDevice(String name, String number) {
        addBlockDevice("devices/virtual/block/" + name, name, number);
    }

    /** A soft RoCE device on a network interface. */
    public void softRdmaDevice(String name, String networkInterface) {
        String path = "devices/virtual/infiniband/" + name;
        write(root.resolve(path).resolve("parent"), networkInterface);
        link("class/infiniband/" + name, "../../" + path);
    }

    /** A network interface of the kernel's own making, such as {@code lo}. */
    public void virtualNetworkInterface(String name) {
        link("class/net/" + name, "../../devices/virtual/net/" + name);
    }

    /** A function of the tree, or a host bridge. */
    public final class Node {
        private final String path;
        private final String address;

        private Node(String path, String address) {
            this.path = path;
            this.address = address;
        }

        /** The PCI address, empty for a host bridge. */
        public String address() {
            return address;
        }

        /** The function's folder. */
        public Path folder() {
            return root.resolve(path);
        }

        /** A root port below this host bridge. */
        public Node rootPort(String at) {
            return add(at, "1b36:000c", "060400", ROOT_PORT);
        }

        /** The upstream port of a switch below this port. */
        public Node switchUpstreamPort(String at) {
            return add(at, "104c:8232", "060400", SWITCH_UPSTREAM_PORT);
        }

        /** A downstream port of the switch that this is the upstream port of. */
        public Node switchDownstreamPort(String at) {
            return add(at, "104c:8233", "060400", SWITCH_DOWNSTREAM_PORT);
        }

        /** An NVMe controller below this port. */
        public Node nvme(String at) {
            return add(at, "1b36:0010", "010802", 0);
        }

        /** A network card below this port. */
        public Node nic(String at) {
            return add(at, "15b3:1021", "020000", 0);
        }

        /** Any function below this port; a port type below 0 makes one without PCI Express capability. */
        public Node add(String at, String ids, String classCode, int portType) {
            Path folder = addFunction(path + "/" + at, ids, classCode);
            byte[] config = new byte[portType < 0 ? 256 : 4096];
            putWord(config, 0, Integer.parseInt(ids.substring(0, 4), 16));
            putWord(config, 2, Integer.parseInt(ids.substring(5), 16));
            if (portType >= 0) {
                putWord(config, 0x06, 0x10);
                config[0x34] = 0x40;
                putWord(config, 0x40, 0x6005); // MSI, next at 0x60
                putWord(config, 0x60, 0x10);
                putWord(config, 0x62, (portType << 4) | 2);
                putWord(config, 0x100, 0x0001); // Advanced Error Reporting, next at 0x148
                putWord(config, 0x102, 0x1482);
                putWord(config, 0x148, 0x0003); // Device Serial Number, no next
                putWord(config, 0x14a, 0x0001);
            }
            writeBytes(folder.resolve("config"), config);
            return new Node(path + "/" + at, at);
        }

        /** Gives the function an ACS capability with these control bits. */
        public Node acs(int control) {
            byte[] config = readBytes(folder().resolve("config"));
            putWord(config, 0x14a, 0x1601); // next at 0x160
            putWord(config, 0x160, 0x000d);
            putWord(config, 0x162, 0x0001);
            putWord(config, 0x164, 0x5f);
            putWord(config, 0x166, control);
            writeBytes(folder().resolve("config"), config);
            return this;
        }

        /** Cuts the configuration space to what users without privileges see. */
        public Node withoutPrivileges() {
            writeBytes(folder().resolve("config"), Arrays.copyOf(readBytes(folder().resolve("config")), 64));
            return this;
        }

        /** Peer-to-peer memory, with a plain file in the place of the kernel's pool. */
        public Node p2pmem(long sizeBytes, long availableBytes, boolean published) {
            Path p2pmem = folder().resolve("p2pmem");
            write(p2pmem.resolve("size"), Long.toString(sizeBytes));
            write(p2pmem.resolve("available"), Long.toString(availableBytes));
            write(p2pmem.resolve("published"), published ? "1" : "0");
            sized(p2pmem.resolve("allocate"), sizeBytes);
            return this;
        }

        /** A BAR's resource file, a plain file of zeros. */
        public Node resource(int index, long sizeBytes) {
            sized(folder().resolve("resource" + index), sizeBytes);
            return this;
        }

        /** A network interface of this function; with {@code between} such as {@code virtio1} not right below it. */
        public Node networkInterface(String name, String between) {
            String device = between.isEmpty() ? path : path + "/" + between;
            SysfsTree.this.link(device + "/net/" + name + "/device", "../../../" + last(device));
            SysfsTree.this.link("class/net/" + name, "../../" + device + "/net/" + name);
            return this;
        }

        /** An RDMA device of this function. */
        public Node rdmaDevice(String name) {
            SysfsTree.this.link(path + "/infiniband/" + name + "/device", "../../../" + last(path));
            SysfsTree.this.link("class/infiniband/" + name, "../../" + path + "/infiniband/" + name);
            return this;
        }

        /** A block device of this function, such as {@code nvme0n1} with number {@code 259:0}. */
        public Node blockDevice(String name, String number) {
            addBlockDevice(path + "/nvme/" + name.replaceFirst("n\\d+$", "") + "/" + name, name, number);
            return this;
        }

        /** A partition of a block device of this function. */
        public Node partition(String disk, String name, String number) {
            addBlockDevice(path + "/nvme/" + disk.replaceFirst("n\\d+$", "") + "/" + disk + "/" + name, name, number);
            return this;
        }

        /** The driver that it is bound to. */
        public Node driver(String name) {
            SysfsTree.this.link(path + "/driver", up(path) + "bus/pci/drivers/" + name);
            return this;
        }

        /** The IOMMU group that it is in. */
        public Node iommuGroup(int number) {
            String group = "kernel/iommu_groups/" + number;
            SysfsTree.this.link(path + "/iommu_group", up(path) + group);
            SysfsTree.this.link(group + "/devices/" + address, "../../../../" + path);
            return this;
        }

        /** What a driver of NVMe controllers says of the controller memory buffer. */
        public Node memoryBuffer(String controller, long cmbloc, long cmbsz) {
            write(folder().resolve("nvme").resolve(controller).resolve("cmbloc"), Long.toString(cmbloc));
            write(folder().resolve("nvme").resolve(controller).resolve("cmbsz"), Long.toString(cmbsz));
            return this;
        }

        /** Its table of BARs: lines of {@code START END FLAGS}. */
        public Node resources(String... lines) {
            write(folder().resolve("resource"), String.join("\n", lines));
            return this;
        }

        /** Unplugs the function and all below it. */
        public void unplug() {
            try (Stream<Path> all = Files.walk(folder())) {
                List<Path> leavesFirst = all.sorted(Comparator.reverseOrder()).toList();
                for (Path each : leavesFirst) {
                    Files.deleteIfExists(root.resolve("bus/pci/devices").resolve(each.getFileName()));
                    Files.delete(each);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private Path addFunction(String path, String ids, String classCode) {
        Path folder = root.resolve(path);
        write(folder.resolve("vendor"), "0x" + ids.substring(0, 4));
        write(folder.resolve("device"), "0x" + ids.substring(5));
        write(folder.resolve("class"), "0x" + classCode);
        link("bus/pci/devices/" + folder.getFileName(), "../../../" + path);
        return folder;
    }

    private void addBlockDevice(String path, String name, String number) {
        write(root.resolve(path).resolve("dev"), number);
        link("class/block/" + name, "../../" + path);
        link("dev/block/" + number, "../../" + path);
    }

    /** A relative link, and the folder that it points to. */
    private void link(String at, String target) {
        try {
            Path link = root.resolve(at);
            folder(folderOf(link));
            folder(link.resolveSibling(target).normalize());
            Files.createSymbolicLink(link, Path.of(target));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void folder(Path folder) {
        try {
            Files.createDirectories(folder);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Path folderOf(Path file) {
        return Objects.requireNonNull(file.getParent());
    }

    private static void write(Path file, String text) {
        writeBytes(file, (text + "\n").getBytes(StandardCharsets.UTF_8));
    }

    private static void writeBytes(Path file, byte[] bytes) {
        try {
            Files.createDirectories(folderOf(file));
            Files.write(file, bytes);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static byte[] readBytes(Path file) {
        try {
            return Files.readAllBytes(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void sized(Path file, long sizeBytes) {
        folder(folderOf(file));
        try (RandomAccessFile made = new RandomAccessFile(file.toFile(), "rw")) {
            made.setLength(sizeBytes);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** From a folder of the tree to its root. */
    private static String up(String path) {
        return "../".repeat(path.split("/", -1).length);
    }

    private static String last(String path) {
        return path.substring(path.lastIndexOf('/') + 1);
    }

    private static void putWord(byte[] config, int at, int word) {
        config[at] = (byte) word;
        config[at + 1] = (byte) (word >>> 8);
    }
}

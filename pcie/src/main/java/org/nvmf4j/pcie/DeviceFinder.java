package org.nvmf4j.pcie;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.nvmf4j.pcie.FoundDevice.NotOnPci;
import org.nvmf4j.pcie.FoundDevice.OnPci;

/**
 * Finds the PCI function behind a network interface, an RDMA device, a block device or a file. Devices of the kernel's
 * own making (loop, device mapper, software RDMA, NVMe multipath, file systems over several devices) have none, as in
 * Linux. Each look reads sysfs anew. Safe for use by many threads.
 */
public final class DeviceFinder {
    private static final int S_IFMT = 0xf000;
    private static final int S_IFBLK = 0x6000;

    private final Path sysfs;

    /**
     * @param sysfs {@link PciTopology#SYSFS} or a copy of another machine's
     */
    public DeviceFinder(Path sysfs) {
        this.sysfs = sysfs;
    }

    /** The function behind a network interface, such as {@code eth0}. */
    public FoundDevice networkInterface(String name) {
        return entry("class/net", name)
                .map(entry -> behindLink(entry.resolve("device"), "network interface " + name + " is virtual"))
                .orElseGet(() -> new NotOnPci("there is no network interface " + name));
    }

    /** The names of the RDMA devices that the kernel has. */
    public List<String> rdmaDevices() throws IOException {
        try (Stream<Path> entries = Files.list(sysfs.resolve("class/infiniband"))) {
            return entries.map(entry -> String.valueOf(entry.getFileName()))
                    .sorted()
                    .toList();
        } catch (NoSuchFileException e) {
            return List.of();
        }
    }

    /** The function behind an RDMA device, such as {@code mlx5_0}. */
    public FoundDevice rdmaDevice(String name) {
        return entry("class/infiniband", name)
                .map(entry -> rdmaDevice(name, entry))
                .orElseGet(() ->
                        new NotOnPci("RDMA device " + name + " is not one of the kernel's: the CPU moves its data"));
    }

    private FoundDevice rdmaDevice(String name, Path entry) {
        String parent = readIfPresent(entry.resolve("parent"));
        String description = readIfPresent(entry.resolve("node_desc"));
        if (!parent.isEmpty() || description.equals("rxe") || description.startsWith("Software iWARP")) {
            String over = parent.isEmpty() ? "" : " over " + parent;
            return new NotOnPci("RDMA device " + name + " is software" + over + ": the CPU moves its data");
        }
        return behindLink(entry.resolve("device"), "RDMA device " + name + " is virtual");
    }

    /** Whether there is a block device or a partition of that name. */
    public boolean hasBlockDevice(String name) {
        return blockEntry(name).isPresent();
    }

    /** The function behind a block device or a partition, such as {@code nvme0n1p1}. */
    public FoundDevice blockDevice(String name) {
        return blockEntry(name)
                .map(entry -> behindLink(entry, "block device " + name + " is virtual"))
                .orElseGet(() -> new NotOnPci("there is no block device " + name));
    }

    /**
     * The function behind a file: that of a block device's node, or of the block device on which a regular file's file
     * system lies. A node directly in {@code /dev} goes by its name, so that another machine's tree can be asked.
     */
    public FoundDevice file(Path file) {
        Path name = file.getFileName();
        if (name != null
                && Path.of("/dev").equals(file.getParent())
                && blockEntry(name.toString()).isPresent()) {
            return blockDevice(name.toString());
        }
        try {
            boolean node = ((Integer) Files.getAttribute(file, "unix:mode") & S_IFMT) == S_IFBLK;
            long device = (Long) Files.getAttribute(file, node ? "unix:rdev" : "unix:dev");
            return blockDevice(major(device), minor(device), file);
        } catch (IOException e) {
            return new NotOnPci("cannot look at " + file + ": " + e.getMessage());
        }
    }

    private FoundDevice blockDevice(int major, int minor, Path file) {
        String number = major + ":" + minor;
        Path entry = sysfs.resolve("dev/block").resolve(number);
        if (!Files.exists(entry)) {
            return new NotOnPci(file + " lies on no block device of its own (device number " + number + ")");
        }
        return behindLink(entry, file + " lies on a virtual block device (device number " + number + ")");
    }

    /** The upper and lower bits of Linux's device numbers are spread over 64. */
    static int major(long device) {
        return (int) ((device >>> 8 & 0xfff) | (device >>> 32 & ~0xfffL));
    }

    static int minor(long device) {
        return (int) ((device & 0xff) | (device >>> 12 & ~0xffL));
    }

    private FoundDevice behindLink(Path link, String otherwise) {
        try {
            Path root = sysfs.toRealPath();
            Path real = link.toRealPath();
            if (real.startsWith(root)) {
                var function = Sysfs.innermostFunction(root.relativize(real));
                if (function.isPresent()) {
                    return new OnPci(function.get());
                }
            }
        } catch (IOException e) {
            // No such link: the device is of the kernel's own making.
        }
        return new NotOnPci(otherwise + ": no PCI device");
    }

    private Optional<Path> blockEntry(String name) {
        return entry("class/block", name).or(() -> entry("block", name));
    }

    /** The entry of a folder, if there is one; what has slashes or dots for a name is none. */
    private Optional<Path> entry(String folder, String name) {
        boolean plain = !name.isEmpty() && !name.equals(".") && !name.equals("..") && name.indexOf('/') < 0;
        return plain ? Optional.of(sysfs.resolve(folder).resolve(name)).filter(Files::exists) : Optional.empty();
    }

    private static String readIfPresent(Path attribute) {
        try {
            return Sysfs.readText(attribute);
        } catch (IOException e) {
            return "";
        }
    }
}

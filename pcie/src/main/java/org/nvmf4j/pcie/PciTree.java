package org.nvmf4j.pcie;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotLinkException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.pcie.PciFunction.Kind;

/**
 * The PCI functions of a sysfs tree, read as often as one likes: of a function that stayed only the ACS Control register
 * is read again, for the rest cannot change. A function that makes no sense is left out, with a warning. Thread-safe.
 */
final class PciTree {
    private static final System.Logger LOGGER = System.getLogger("org.nvmf4j.pcie");
    private static final Pattern HOST_BRIDGE = Pattern.compile("pci([0-9a-f]{4,7}:[0-9a-f]{2})");
    private static final int CLASS_HOST_BRIDGE = 0x0600;
    private static final int CLASS_PCI_BRIDGE = 0x0604;

    private final Path sysfs;
    private final PciPlatform platform;
    private Map<PciAddress, Known> known = new HashMap<>();
    private Set<PciAddress> odd = new HashSet<>();

    /**
     * By which a function's folder is known again.
     *
     * @param target of its link
     */
    private record Stamp(Path target, @Nullable Object key, FileTime modified) {
        static Stamp of(Path link) throws IOException {
            Path target;
            try {
                target = Files.readSymbolicLink(link);
            } catch (NotLinkException e) {
                target = link; // a copy that has folders for links
            }
            BasicFileAttributes folder = Files.readAttributes(link, BasicFileAttributes.class);
            return new Stamp(target, folder.fileKey(), folder.lastModifiedTime());
        }
    }

    private record Known(Stamp stamp, PciFunction function, Path config, int acsControlAt) {}

    /** A tree whose platform is that of {@code proc/cpuinfo} beside it. */
    PciTree(Path sysfs) {
        this(sysfs, PciPlatform.read(sysfs.toAbsolutePath().resolveSibling("proc/cpuinfo")));
    }

    PciTree(Path sysfs, PciPlatform platform) {
        this.sysfs = sysfs;
        this.platform = platform;
    }

    /**
     * The functions that there are now.
     *
     * @throws IOException if that is no sysfs tree, or the tree cannot be read
     */
    synchronized PciTopology read() throws IOException {
        if (!Files.isDirectory(sysfs.resolve("bus"))) {
            throw new IOException(sysfs + " is no sysfs tree: it has no folder bus");
        }
        Map<PciAddress, Known> found = new HashMap<>();
        Set<PciAddress> oddNow = new HashSet<>();
        Path devices = sysfs.resolve("bus/pci/devices");
        if (Files.isDirectory(devices)) {
            try (DirectoryStream<Path> links = Files.newDirectoryStream(devices)) {
                for (Path link : links) {
                    Optional<PciAddress> address = PciAddress.find(String.valueOf(link.getFileName()));
                    if (address.isPresent()) {
                        look(address.get(), link, found, oddNow);
                    }
                }
            } catch (DirectoryIteratorException e) {
                throw e.getCause();
            }
        }
        known = found;
        odd = oddNow;
        SortedMap<PciAddress, PciFunction> functions = new TreeMap<>();
        found.forEach((address, one) -> functions.put(address, one.function));
        return new PciTopology(functions, platform);
    }

    private void look(PciAddress address, Path link, Map<PciAddress, Known> found, Set<PciAddress> oddNow) {
        try {
            found.put(address, look(address, link));
        } catch (NoSuchFileException e) {
            // Unplugged while we read.
        } catch (IOException e) {
            oddNow.add(address);
            if (!odd.contains(address)) {
                LOGGER.log(Level.WARNING, "PCI function {0} is left out: {1}", address, e.getMessage());
            }
        }
    }

    private Known look(PciAddress address, Path link) throws IOException {
        Stamp stamp = Stamp.of(link);
        Known before = known.get(address);
        if (before == null || !before.stamp.equals(stamp)) {
            return readFunction(address, stamp, link.toRealPath());
        }
        return switch (before.function.acs().state()) {
            case ABSENT -> before;
            case PRESENT -> {
                int control = Sysfs.readWord(before.config, before.acsControlAt);
                // What has gone, or sleeps too deep, reads as ones.
                AcsControl acs = control < 0 || control == 0xffff
                        ? AcsControl.UNKNOWN
                        : new AcsControl(AcsControl.State.PRESENT, control);
                yield new Known(stamp, before.function.withAcs(acs), before.config, before.acsControlAt);
            }
            case UNKNOWN -> readFunction(address, stamp, link.toRealPath());
        };
    }

    private static Known readFunction(PciAddress address, Stamp stamp, Path folder) throws IOException {
        String hostBridge = String.format("%04x:%02x", address.domain(), address.bus());
        List<PciAddress> upstream = new ArrayList<>();
        for (Path name : folder) {
            var root = HOST_BRIDGE.matcher(name.toString());
            if (root.matches()) {
                // A domain of its own below a function (VMD) starts a new tree.
                hostBridge = root.group(1);
                upstream.clear();
            }
            PciAddress.find(name.toString()).ifPresent(upstream::addFirst);
        }
        upstream.remove(address);
        int classCode = Sysfs.readHex(folder.resolve("class"));
        Path configFile = folder.resolve("config");
        PciConfigSpace config = new PciConfigSpace(Sysfs.readBytes(configFile));
        PciFunction function = new PciFunction(
                address,
                Sysfs.readHex(folder.resolve("vendor")),
                Sysfs.readHex(folder.resolve("device")),
                classCode,
                kind(classCode, config),
                hostBridge,
                upstream,
                config.acs());
        return new Known(stamp, function, configFile, config.acsControlAt());
    }

    private static Kind kind(int classCode, PciConfigSpace config) {
        return switch (classCode >>> 8) {
            case CLASS_HOST_BRIDGE -> Kind.HOST_BRIDGE;
            case CLASS_PCI_BRIDGE ->
                switch (config.portType()) {
                    case PciConfigSpace.PORT_ROOT -> Kind.ROOT_PORT;
                    case PciConfigSpace.PORT_SWITCH_UPSTREAM -> Kind.SWITCH_UPSTREAM_PORT;
                    case PciConfigSpace.PORT_SWITCH_DOWNSTREAM -> Kind.SWITCH_DOWNSTREAM_PORT;
                    default -> Kind.BRIDGE;
                };
            default -> Kind.ENDPOINT;
        };
    }
}

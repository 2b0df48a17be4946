package org.nvmf4j.ibverbs;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.linux.SystemErrors;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.AddressText;
import org.nvmf4j.verbs.CompletionQueue;
import org.nvmf4j.verbs.DeviceAttributes;
import org.nvmf4j.verbs.DeviceDescription;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.QueuePairOptions;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.ProviderDevice;
import org.nvmf4j.verbs.spi.ProviderQueuePair;
import org.nvmf4j.verbs.spi.VerbsProvider;

/** What there is to say of the kernel's RDMA devices: what sysfs tells, and what they answer when one tries. */
final class DeviceReport {
    private static final int MAX_INLINE_TRIED = 1 << 14;
    private static final long MEMORY_TRIED = 64L << 20;

    private final Path devices;
    private final VerbsProvider provider;

    /** A report from {@code /sys/class/infiniband}, or a copy of it, and from trying what a provider opens. */
    DeviceReport(Path devices, VerbsProvider provider) {
        this.devices = devices;
        this.provider = provider;
    }

    List<DeviceDescription> all() {
        return list(devices).stream().map(this::describe).toList();
    }

    /**
     * An address of a device, of the same kind as a peer's if that is given.
     *
     * @throws VerbsException with one line, if there is no such device or address
     */
    InetAddress addressOf(String name, @Nullable InetAddress peer) throws VerbsException {
        Path device = devices.resolve(name);
        if (name.isEmpty() || name.contains("/") || !Files.isDirectory(device)) {
            String names = list(devices).stream()
                    .map(path -> path.getFileName().toString())
                    .collect(Collectors.joining(", "));
            throw new VerbsException("the kernel has no RDMA device '" + name + "'; "
                    + (names.isEmpty() ? "it has none" : "use one of " + names));
        }
        return list(device.resolve("ports")).stream()
                .flatMap(port -> addresses(port).stream())
                .filter(address -> peer == null || address.getClass() == peer.getClass())
                .findFirst()
                .orElseThrow(() -> new VerbsException("RDMA device " + name + " has no "
                        + (peer == null ? "IP" : peer instanceof Inet6Address ? "IPv6" : "IPv4")
                        + " address: give its interface one"));
    }

    /** The name of the device that the kernel knows to have an address; empty if none has. */
    String ownerOf(InetAddress address) {
        return list(devices).stream()
                .filter(device -> list(device.resolve("ports")).stream()
                        .anyMatch(port -> addresses(port).contains(address)))
                .map(device -> device.getFileName().toString())
                .findFirst()
                .orElse("");
    }

    private DeviceDescription describe(Path device) {
        Map<String, String> facts = new LinkedHashMap<>();
        Set<InetAddress> addresses = new LinkedHashSet<>();
        for (Path port : list(device.resolve("ports"))) {
            List<InetAddress> own = addresses(port);
            addresses.addAll(own);
            facts.put("port " + port.getFileName(), port(port));
            facts.put(
                    "port " + port.getFileName() + " addresses",
                    own.isEmpty() ? "none" : own.stream().map(AddressText::of).collect(Collectors.joining(", ")));
        }
        facts.put("PCI address", pciAddress(device));
        facts.put("NUMA node", numaNode(device));
        tryOut(addresses, facts);
        return new DeviceDescription(device.getFileName().toString(), facts);
    }

    private static String port(Path port) {
        String state = read(port.resolve("state")).replaceFirst("^\\d+: ", "");
        String link = read(port.resolve("link_layer"));
        Set<String> interfaces = new TreeSet<>();
        for (Path name : list(port.resolve("gid_attrs").resolve("ndevs"))) {
            String text = read(name);
            if (!text.isEmpty()) {
                interfaces.add(text);
            }
        }
        return state + ", " + link + (interfaces.isEmpty() ? "" : ", on " + String.join(", ", interfaces));
    }

    /** The addresses behind the GIDs of RoCE; those made of a MAC address are nobody's to bind. */
    private static List<InetAddress> addresses(Path port) {
        List<InetAddress> found = new ArrayList<>();
        for (Path gid : list(port.resolve("gids"))) {
            InetAddress address = address(read(gid));
            if (address != null && !found.contains(address)) {
                found.add(address);
            }
        }
        return found;
    }

    private static @Nullable InetAddress address(String gid) {
        if (gid.isEmpty()) {
            return null;
        }
        try {
            InetAddress address = InetAddress.getByName(gid); // an IPv4 address in IPv6's form becomes one of IPv4
            boolean six = address instanceof Inet6Address;
            return address.isAnyLocalAddress() || (six && address.isLinkLocalAddress()) ? null : address;
        } catch (UnknownHostException e) {
            return null;
        }
    }

    private static String pciAddress(Path device) {
        try {
            return device.resolve("device").toRealPath().getFileName().toString();
        } catch (IOException e) {
            return "none: it is software";
        }
    }

    private static String numaNode(Path device) {
        String node = read(device.resolve("device").resolve("numa_node"));
        return node.isEmpty() || node.startsWith("-") ? "none" : node;
    }

    private void tryOut(Set<InetAddress> addresses, Map<String, String> facts) {
        if (addresses.isEmpty()) {
            facts.put("use", "not possible: it has no IP address; ip addr add ADDR dev INTERFACE");
            return;
        }
        try (ProviderDevice device =
                provider.open(DeviceOptions.at(addresses.iterator().next()))) {
            DeviceAttributes attributes = device.attributes();
            facts.put("path MTU", Integer.toString(attributes.pathMtuBytes()));
            facts.put(
                    "queue pair",
                    "at most " + attributes.maxWorkRequests() + " work requests, " + attributes.maxSge() + " SGEs, "
                            + attributes.maxReadRequests() + " READs outstanding");
            facts.put("completion vectors", Integer.toString(((IbVerbsDevice) device).hardwareVectors()));
            ProtectionDomain domain = device.allocateProtectionDomain();
            facts.put("inline", inline(device, domain));
            facts.put("registered memory", memory(domain));
        } catch (VerbsException e) {
            facts.put("use", "not possible: " + e.getMessage());
        }
    }

    /** The most that the device grants, and what it does when asked for more. */
    private static String inline(ProviderDevice device, ProtectionDomain domain) throws VerbsException {
        CompletionQueue queue = device.createCompletionQueue(2, 0);
        int granted = -1;
        int refused = MAX_INLINE_TRIED + 1;
        int errno = 0;
        boolean exact = true;
        while (refused - granted > 1) {
            int asked = granted < 0 ? 0 : (granted + refused) >>> 1;
            try (ProviderQueuePair pair =
                    device.createQueuePair(domain, new QueuePairOptions(queue, queue, 1, 1, 1, asked, null), asked)) {
                if (pair.inlineBytes() < asked) {
                    refused = asked;
                    errno = 0;
                } else {
                    exact &= asked == 0 || pair.inlineBytes() == asked;
                    granted = asked;
                }
            } catch (VerbsException e) {
                if (asked == 0) {
                    throw e;
                }
                refused = asked;
                errno = e.errno();
            }
        }
        queue.close();
        if (granted == 0) {
            return "none";
        }
        return "up to " + granted + " bytes" + (exact ? "" : ", rounded up") + "; more is "
                + (errno == 0 ? "granted in part" : "refused with " + SystemErrors.name(errno));
    }

    private static String memory(ProtectionDomain domain) {
        try (Arena arena = Arena.ofConfined();
                MemoryRegion _ = domain.register(arena.allocate(MEMORY_TRIED), Set.of(AccessFlag.LOCAL_WRITE))) {
            return "at least " + (MEMORY_TRIED >> 20) + " MiB";
        } catch (VerbsException e) {
            return "less than " + (MEMORY_TRIED >> 20) + " MiB: " + e.getMessage();
        }
    }

    private static List<Path> list(Path folder) {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.sorted().toList();
        } catch (IOException e) {
            return List.of();
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            return ""; // an empty place of a table gives EINVAL
        }
    }
}

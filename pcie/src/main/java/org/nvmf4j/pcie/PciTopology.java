package org.nvmf4j.pcie;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.stream.Collectors;
import org.nvmf4j.pcie.PciFunction.Kind;
import org.nvmf4j.pcie.PciRoute.Reachable;
import org.nvmf4j.pcie.PciRoute.Unreachable;
import org.nvmf4j.pcie.PciRoute.Via;

/**
 * The PCI functions of a machine and the ways between them, as they were when it was read; immutable. Distances and
 * reachability follow Linux ({@code drivers/pci/p2pdma.c}): data between two functions below one bridge stays below
 * it, unless ACS redirect on the way sends it to the root complex; through the root complex only where the platform is
 * known to route. Where ACS bits cannot be read (without privileges Linux shows 64 bytes of configuration space) they
 * count as set, and the reason says so.
 */
public final class PciTopology {
    /** Where Linux mounts sysfs. */
    public static final Path SYSFS = Path.of("/sys");

    private final SortedMap<PciAddress, PciFunction> functions;
    private final PciPlatform platform;

    PciTopology(SortedMap<PciAddress, PciFunction> functions, PciPlatform platform) {
        this.functions = Collections.unmodifiableSortedMap(functions);
        this.platform = platform;
    }

    /**
     * Reads a sysfs tree. The processor is that of {@code proc/cpuinfo} beside the tree; without that file the platform
     * counts as unknown.
     *
     * @param sysfs {@link #SYSFS} or a copy of another machine's
     * @throws IOException if that is no sysfs tree, or the tree cannot be read
     */
    public static PciTopology read(Path sysfs) throws IOException {
        return new PciTree(sysfs).read();
    }

    /**
     * Reads a sysfs tree of a platform that is known.
     *
     * @throws IOException if that is no sysfs tree, or the tree cannot be read
     */
    public static PciTopology read(Path sysfs, PciPlatform platform) throws IOException {
        return new PciTree(sysfs, platform).read();
    }

    /** All functions, by address. */
    public Collection<PciFunction> functions() {
        return functions.values();
    }

    /** The function at an address, empty if there is none. */
    public Optional<PciFunction> function(PciAddress address) {
        return Optional.ofNullable(functions.get(address));
    }

    /** What is known about the root complex. */
    public PciPlatform platform() {
        return platform;
    }

    /** Whether and how two functions reach each other; the same both ways but for the order of words in a reason. */
    public PciRoute route(PciAddress from, PciAddress to) {
        PciFunction a = functions.get(from);
        PciFunction b = functions.get(to);
        if (a == null || b == null) {
            return new Unreachable("there is no PCI function " + (a == null ? from : to));
        }
        List<PciAddress> pathA = pathUp(a);
        List<PciAddress> pathB = pathUp(b);
        for (int i = 0; i < pathA.size(); i++) {
            int j = pathB.indexOf(pathA.get(i));
            if (j >= 0) {
                List<PciAddress> way = new ArrayList<>(pathA.subList(0, i + 1));
                way.addAll(pathB.subList(0, j).reversed());
                return routeBelowBridge(a, b, way);
            }
        }
        return routesBetween(a.hostBridge(), b.hostBridge())
                ? new Reachable(pathA.size() + pathB.size(), Via.HOST_BRIDGE)
                : new Unreachable(describeSeparation(a, b, pathA.getLast(), pathB.getLast()));
    }

    private static List<PciAddress> pathUp(PciFunction function) {
        List<PciAddress> path = new ArrayList<>();
        path.add(function.address());
        path.addAll(function.upstreamBridges());
        return path;
    }

    /** The way between two functions with a bridge in common, both ends and that bridge included. */
    private PciRoute routeBelowBridge(PciFunction a, PciFunction b, List<PciAddress> way) {
        int distance = way.size() - 1;
        List<PciAddress> redirecting =
                way.stream().filter(step -> acs(step).redirects()).toList();
        List<PciAddress> unknown =
                way.stream().filter(step -> acs(step).isUnknown()).toList();
        if (redirecting.isEmpty() && unknown.isEmpty()) {
            return new Reachable(distance, Via.SWITCH);
        }
        if (routesBetween(a.hostBridge(), b.hostBridge())) {
            return new Reachable(distance, redirecting.isEmpty() ? Via.SWITCH_OR_HOST_BRIDGE : Via.HOST_BRIDGE);
        }
        String ends = "between " + a.describe() + " and " + b.describe();
        if (redirecting.isEmpty()) {
            return new Unreachable("the ACS bits of " + list(unknown, ", ") + " " + ends
                    + " cannot be read, and if they redirect, this platform (" + describeRoot(a.hostBridge())
                    + ") is not known to route; reading all of the configuration space needs root");
        }
        return new Unreachable("ACS redirect at " + list(redirecting, ", ") + " sends what goes " + ends
                + " through host bridge " + a.hostBridge() + ", and this platform (" + describeRoot(a.hostBridge())
                + ") is not known to route it back; the kernel parameter pci=disable_acs_redir="
                + list(redirecting, ";") + " turns it off");
    }

    private AcsControl acs(PciAddress address) {
        PciFunction function = functions.get(address);
        return function == null ? AcsControl.UNKNOWN : function.acs();
    }

    private static String list(List<PciAddress> addresses, String separator) {
        return addresses.stream().map(PciAddress::toString).collect(Collectors.joining(separator));
    }

    private boolean routesBetween(String hostBridgeA, String hostBridgeB) {
        boolean same = hostBridgeA.equals(hostBridgeB);
        return platform.routesEverywhere() || (isListed(hostBridgeA, same) && (same || isListed(hostBridgeB, false)));
    }

    private boolean isListed(String hostBridge, boolean withinItself) {
        return rootFunction(hostBridge)
                .filter(root -> PciPlatform.isListed(root, withinItself))
                .isPresent();
    }

    /**
     * The function by which Linux knows a host bridge: the first on its root bus, if that is device 0, function 0, or,
     * where a platform has no such function, a root port.
     */
    private Optional<PciFunction> rootFunction(String hostBridge) {
        return functions.values().stream()
                .filter(function -> function.hostBridge().equals(hostBridge)
                        && function.upstreamBridges().isEmpty())
                .min(Comparator.comparing(PciFunction::address))
                .filter(first ->
                        (first.address().device() == 0 && first.address().function() == 0)
                                || first.kind() == Kind.ROOT_PORT);
    }

    private String describeRoot(String hostBridge) {
        return rootFunction(hostBridge)
                .map(root -> "host bridge " + root.ids())
                .orElse("host bridge " + hostBridge + " without a function of its own");
    }

    private String describeSeparation(PciFunction a, PciFunction b, PciAddress topA, PciAddress topB) {
        if (a.hostBridge().equals(b.hostBridge())) {
            return a.describe() + " is " + below(a, topA) + ", " + b.describe() + " is " + below(b, topB)
                    + " of the same host bridge " + a.hostBridge() + ", and this platform ("
                    + describeRoot(a.hostBridge()) + ") is not known to route between them";
        }
        String roots = describeRoot(a.hostBridge()) + ", " + describeRoot(b.hostBridge());
        return a.describe() + " is behind host bridge " + a.hostBridge() + ", " + b.describe()
                + " is behind host bridge " + b.hostBridge() + ", and this platform (" + roots
                + ") is not known to route between them";
    }

    private static String below(PciFunction function, PciAddress top) {
        return function.address().equals(top) ? "on the root bus" : "under root port " + top;
    }
}

package org.nvmf4j.pcie;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.nvmf4j.pcie.FoundDevice.NotOnPci;
import org.nvmf4j.pcie.FoundDevice.OnPci;
import org.nvmf4j.pcie.PciRoute.Reachable;
import org.nvmf4j.pcie.PciRoute.Unreachable;
import org.nvmf4j.target.spi.PeerClient;
import org.nvmf4j.target.spi.PeerMemory;
import org.nvmf4j.target.spi.PeerMemoryProvider;
import org.nvmf4j.target.spi.Reach;

/**
 * The peer memories that sysfs shows: the kernel's {@code p2pmem} pools, and BARs that the user offers; and the memory buffers of
 * controllers that are ours. Each call of
 * {@link #memories} looks again; {@link #reach} judges by that reading. Thread-safe.
 */
public final class SysfsPeerMemoryProvider implements PeerMemoryProvider {
    private static final System.Logger LOGGER = System.getLogger("org.nvmf4j.pcie");

    private final PciTree tree;
    private final Path devices;
    private final DeviceFinder finder;
    private final Map<PciAddress, SysfsPeerMemory> pools = new TreeMap<>();
    private final List<OfferedBar> bars = new ArrayList<>();
    private final List<CmbPeerMemory> buffers = new ArrayList<>();
    private volatile PciTopology topology;

    /**
     * Reads the tree.
     *
     * @param sysfs {@link PciTopology#SYSFS} or a copy of another machine's
     * @param bars what the user offers besides
     * @throws IOException if that is no sysfs tree, or a BAR is not to be had, or offered twice; one line
     */
    public SysfsPeerMemoryProvider(Path sysfs, List<BarRange> bars) throws IOException {
        tree = new PciTree(sysfs);
        devices = sysfs.resolve("bus/pci/devices");
        finder = new DeviceFinder(sysfs);
        for (BarRange range : bars) {
            OfferedBar bar =
                    new OfferedBar(range, devices.resolve(range.address().toString()));
            for (OfferedBar other : this.bars) {
                bar.refuseOverlap(other);
            }
            this.bars.add(bar);
        }
        topology = tree.read();
    }

    /** The functions and bridges as {@link #memories} saw them last. */
    public PciTopology topology() {
        return topology;
    }

    /** Offers the memory buffer of a controller that is ours, until it is closed. */
    public synchronized void add(CmbPeerMemory buffer) {
        buffers.add(buffer);
    }

    @Override
    public synchronized List<PeerMemory> memories() {
        try {
            topology = tree.read();
        } catch (IOException e) {
            // What was there counts as there as long as its folder is.
            LOGGER.log(Level.WARNING, "cannot look for PCI devices: {0}", e.getMessage());
        }
        pools.values().removeIf(pool -> !pool.isPresent());
        for (PciFunction function : topology.functions()) {
            Path folder = devices.resolve(function.address().toString());
            if (Files.isDirectory(folder.resolve("p2pmem"))) {
                pools.computeIfAbsent(function.address(), address -> new SysfsPeerMemory(address, folder));
            }
        }
        SortedMap<PciAddress, List<PeerMemory>> all = new TreeMap<>();
        pools.forEach((address, pool) -> add(all, address, pool));
        bars.forEach(bar -> bar.look().ifPresent(memory -> add(all, bar.address(), memory)));
        buffers.removeIf(buffer -> !buffer.isPresent());
        buffers.forEach(buffer -> add(all, PciAddress.parse(buffer.pciAddress()), buffer));
        return all.values().stream().flatMap(List::stream).toList();
    }

    private static void add(Map<PciAddress, List<PeerMemory>> all, PciAddress address, PeerMemory memory) {
        all.computeIfAbsent(address, none -> new ArrayList<>()).add(memory);
    }

    /** The function behind a client, or why there is none. */
    public FoundDevice find(PeerClient client) {
        return switch (client) {
            case PeerClient.PciFunction function ->
                PciAddress.find(function.pciAddress())
                        .<FoundDevice>map(OnPci::new)
                        .orElseGet(() -> new NotOnPci("'" + function.pciAddress() + "' is no PCI address"));
            case PeerClient.RdmaDevice device -> finder.rdmaDevice(device.name());
            case PeerClient.File file -> finder.file(file.path());
            case PeerClient.Cpu cpu -> new NotOnPci(cpu.what() + " moves its data with the CPU");
        };
    }

    @Override
    public Reach reach(PeerMemory memory, PeerClient client) {
        if (client instanceof PeerClient.File && !(memory instanceof SysfsPeerMemory)) {
            // A BAR has no pages of the kernel's, which direct I/O needs.
            return Reach.not("Linux takes no BAR for direct I/O, only p2pmem;"
                    + " direct=off on the namespace has the CPU copy instead");
        }
        return switch (find(client)) {
            case OnPci on -> route(memory, on.address());
            case NotOnPci none when client instanceof PeerClient.PciFunction -> Reach.not(none.reason());
            case NotOnPci none -> Reach.withTheCpu(none.reason());
        };
    }

    private Reach route(PeerMemory memory, PciAddress client) {
        return switch (topology.route(PciAddress.parse(memory.pciAddress()), client)) {
            case Reachable reachable -> Reach.peerToPeer(reachable.distance());
            case Unreachable unreachable -> Reach.not(unreachable.reason());
        };
    }
}

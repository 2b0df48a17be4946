package org.nvmf4j.target;

import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.target.spi.PeerBlock;
import org.nvmf4j.target.spi.PeerClient;
import org.nvmf4j.target.spi.PeerMemory;
import org.nvmf4j.target.spi.PeerMemoryProvider;
import org.nvmf4j.target.spi.Reach;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.VerbsException;

/**
 * The peer memories that a target uses: what a provider offers, what the target's ports hold of it, and for whom. It selects for a
 * namespace on a port, shares each memory among the lanes, and gives it back after the last use. Thread-safe; none of it is on the I/O
 * path.
 */
final class PeerMemories {
    private static final System.Logger LOG = System.getLogger(PeerMemories.class.getName());
    /** A controller with many namespaces has a line for each. */
    private static final LimitedLog PLACEMENTS = new LimitedLog(LOG, 500);

    private static final int PAGE_BYTES = 1 << BufferSlab.UNIT_SHIFT;
    /** A byte buffer, as which backends see it, has no more than 2 GiB. */
    private static final long MAX_PART_BYTES = 1L << 30;

    private final PeerMemoryProvider provider;
    private final TargetOptions options;
    private final List<Device> devices;
    private final Runnable whenVanished;
    private final IdentityHashMap<PeerMemory, HeldPeerMemory> known = new IdentityHashMap<>();
    private final List<PortPeerMemory> inUse = new ArrayList<>();

    /**
     * Holds nothing yet.
     *
     * @param devices that the target listens on
     * @param whenVanished is run, on any thread, when a memory that is known turns out to be gone
     */
    PeerMemories(PeerMemoryProvider provider, TargetOptions options, List<Device> devices, Runnable whenVanished) {
        this.provider = provider;
        this.options = options;
        this.devices = devices;
        this.whenVanished = whenVanished;
    }

    // What there is, as selection sees it.

    /** All that the provider offers now. */
    List<HeldPeerMemory> memories() {
        List<? extends PeerMemory> offered = provider.memories();
        synchronized (this) {
            known.entrySet()
                    .removeIf(entry -> (entry.getValue().hasVanished() || !offered.contains(entry.getKey()))
                            && !isUsed(entry.getValue()));
            return offered.stream()
                    .map(memory -> known.computeIfAbsent(memory, this::newlyKnown))
                    .toList();
        }
    }

    private HeldPeerMemory newlyKnown(PeerMemory memory) {
        return new HeldPeerMemory(memory, () -> {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "peer memory " + memory.pciAddress()
                            + " has vanished: its namespaces use system memory from now on");
            whenVanished.run();
        });
    }

    private boolean isUsed(HeldPeerMemory memory) {
        return inUse.stream().anyMatch(one -> one.memory() == memory);
    }

    /** Looks whether what is used is still there. */
    void checkPresence() {
        List<HeldPeerMemory> used;
        synchronized (this) {
            used = inUse.stream().map(PortPeerMemory::memory).distinct().toList();
        }
        used.forEach(HeldPeerMemory::isPresent);
    }

    synchronized long heldBytes() {
        return known.values().stream().mapToLong(HeldPeerMemory::heldBytes).sum();
    }

    // Selection.

    /** What there is now, for selections that follow each other at once. */
    PeerMemoryProvider look() {
        List<HeldPeerMemory> seen = memories();
        return new PeerMemoryProvider() {
            @Override
            public List<HeldPeerMemory> memories() {
                return seen;
            }

            @Override
            public Reach reach(PeerMemory memory, PeerClient client) {
                return provider.reach(memory instanceof HeldPeerMemory held ? held.memory() : memory, client);
            }
        };
    }

    /**
     * Checks what a namespace asks for against every device that the target listens on.
     *
     * @throws IllegalArgumentException if it names a device that cannot be used on one of them; one line
     */
    void check(Namespace namespace) {
        if (namespace.peerMemory().kind() != PeerMemoryChoice.Kind.DEVICE) {
            return;
        }
        PeerMemoryProvider seen = look();
        for (Device device : devices) {
            PeerMemorySelection selection;
            try {
                selection = select(namespace, device, seen);
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException("namespace " + namespace.nsid() + ": " + e.getMessage(), e);
            }
            if (!selection.warning().isEmpty()) {
                LOG.log(System.Logger.Level.WARNING, "namespace " + namespace.nsid() + ": " + selection.warning());
            }
        }
    }

    private static PeerMemorySelection select(Namespace namespace, Device device, PeerMemoryProvider seen) {
        return PeerMemorySelection.select(
                namespace.peerMemory(),
                seen,
                List.of(
                        new PeerClient.RdmaDevice(device.attributes().name()),
                        namespace.backend().peerClient()));
    }

    /** Selects of what was seen, and takes memory for a namespace on a port, and says in the log what came of it. */
    PeerPlacement place(Namespace namespace, TargetPort port, Controller controller, PeerMemoryProvider seen) {
        String who = "namespace " + namespace.nsid() + " of controller " + controller.cntlid() + " of "
                + controller.subsystem().nqn() + ", host " + controller.hostNqn() + ": ";
        PeerMemorySelection selection;
        try {
            selection = select(namespace, port.device(), seen);
        } catch (RuntimeException e) {
            PLACEMENTS.warning(who + "system memory: " + e.getMessage());
            return PeerPlacement.NONE;
        }
        if (!(selection.memory() instanceof HeldPeerMemory memory)) {
            PLACEMENTS.log(System.Logger.Level.INFO, who + "system memory: " + selection.why());
            return PeerPlacement.NONE;
        }
        PortPeerMemory taken = acquire(memory, port);
        if (taken == null) {
            PLACEMENTS.warning(who + "system memory: nothing could be had of " + selection.why());
            return PeerPlacement.NONE;
        }
        PLACEMENTS.log(System.Logger.Level.INFO, who + "peer memory " + selection.why());
        return PeerPlacement.in(taken);
    }

    // Sharing.

    private @Nullable PortPeerMemory acquire(HeldPeerMemory memory, TargetPort port) {
        PortPeerMemory shared = use(memory, port);
        // Mapping takes time, which lanes that give something back must not wait for.
        synchronized (shared) {
            for (int lane = 0; lane < shared.lanes(); lane++) {
                if (shared.part(lane) == null) {
                    shared.part(lane, newPart(memory, port, lane));
                }
            }
        }
        if (!shared.hasParts()) {
            CompletableFuture<Void> _ = release(shared);
            return null;
        }
        return shared;
    }

    /** A memory as a port's lanes use it, with one more user: until that is released its parts stay. */
    private synchronized PortPeerMemory use(HeldPeerMemory memory, TargetPort port) {
        PortPeerMemory shared = inUse.stream()
                .filter(one -> one.memory() == memory && one.port() == port)
                .findFirst()
                .orElse(null);
        if (shared == null) {
            shared = new PortPeerMemory(memory, port);
            inUse.add(shared);
        }
        shared.users++;
        shared.drained.complete(null);
        return shared;
    }

    /** A device's part is the same for every device, and a lane's for every lane of it, as far as there is so much; else null. */
    private @Nullable PeerBuffers newPart(HeldPeerMemory memory, TargetPort port, int lane) {
        int lanes = port.lanes().size() * devices.size();
        long bytes = Math.min(MAX_PART_BYTES, Math.min(memory.freeBytes() / lanes, options.dataBufferBytes()));
        try {
            while (bytes >= PAGE_BYTES) {
                int order = largestOrder(bytes);
                long whole = bytes & -((long) PAGE_BYTES << order);
                PeerBlock block = memory.allocate(whole);
                if (block != null) {
                    return register(memory, block, port, lane, order);
                }
                bytes = whole / 2;
            }
        } catch (IOException | RuntimeException e) {
            PLACEMENTS.warning("peer memory " + memory.pciAddress() + ": " + e.getMessage());
        }
        return null;
    }

    /** Of the largest buffer that a part of that size has. */
    private int largestOrder(long bytes) {
        int ofPart = 63 - Long.numberOfLeadingZeros(bytes / PAGE_BYTES);
        return Math.min(ofPart, BufferSlab.orderOf(options.maxTransferBytes()));
    }

    private static PeerBuffers register(
            HeldPeerMemory memory, PeerBlock block, TargetPort port, int lane, int largestOrder) throws VerbsException {
        try {
            MemoryRegion region = register(block, port.protectionDomain());
            return new PeerBuffers(
                    memory, block, region, largestOrder, port.lanes().get(lane).peerMemoryCounters());
        } catch (VerbsException | RuntimeException e) {
            memory.giveBack(block);
            throw e;
        }
    }

    /** By its dma-buf, which devices reach without the CPU, if there is one and the device takes it; else by its mapping. */
    private static MemoryRegion register(PeerBlock block, ProtectionDomain domain) throws VerbsException {
        EnumSet<AccessFlag> access = EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.ON_DEMAND);
        OptionalInt dmaBuf = block.dmaBuf();
        if (dmaBuf.isPresent()) {
            try {
                return domain.registerDmaBuf(
                        dmaBuf.getAsInt(), 0, block.segment().byteSize(), access);
            } catch (VerbsException e) {
                LOG.log(System.Logger.Level.DEBUG, "no dma-buf registration: " + e.getMessage());
            }
        }
        return domain.register(block.segment(), access);
    }

    /** Ends one use; completes when the memory has been given back, if it was the last. */
    synchronized CompletableFuture<Void> release(PortPeerMemory shared) {
        if (--shared.users > 0) {
            return CompletableFuture.completedFuture(null);
        }
        CompletableFuture<Void> drained = new CompletableFuture<>();
        shared.drained = drained;
        shared.port().lanes().forEach(lane -> lane.retire(shared));
        return drained;
    }

    /**
     * Gives a lane's part back if it is not used any more; on the lane.
     *
     * @return whether there is nothing left to do: it was given back, or somebody has taken the memory again
     */
    boolean giveBack(PortPeerMemory shared, TargetLane lane) {
        PeerBuffers part = shared.at(lane);
        if (part != null && part.taken() != 0) {
            return false;
        }
        synchronized (this) {
            if (shared.users > 0) {
                return true;
            }
            try {
                close(shared, lane.index());
            } catch (RuntimeException e) {
                LOG.log(
                        System.Logger.Level.ERROR,
                        "cannot give back a part of " + shared.memory().pciAddress(),
                        e);
            }
            if (!shared.hasParts()) {
                inUse.remove(shared);
                shared.drained.complete(null);
            }
            return true;
        }
    }

    private static void close(PortPeerMemory shared, int lane) {
        PeerBuffers part = shared.part(lane);
        if (part != null) {
            shared.part(lane, null);
            part.close();
        }
    }

    /**
     * Gives everything back, after the lanes have ended.
     *
     * @throws IllegalStateException if a buffer is still in use, or something could not be given back; the rest has been
     */
    synchronized void close() {
        IllegalStateException first = null;
        for (PortPeerMemory shared : inUse) {
            for (int lane = 0; lane < shared.lanes(); lane++) {
                try {
                    close(shared, lane);
                } catch (RuntimeException e) {
                    first = first == null
                            ? new IllegalStateException(
                                    "peer memory " + shared.memory().pciAddress(), e)
                            : first;
                }
            }
            shared.drained.complete(null);
        }
        inUse.clear();
        if (first != null) {
            throw first;
        }
    }
}

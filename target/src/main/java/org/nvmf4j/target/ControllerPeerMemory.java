package org.nvmf4j.target;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.target.spi.PeerMemoryProvider;

/** A controller's map from namespaces to peer memory. Lanes read it without a lock; other threads change it. */
final class ControllerPeerMemory {
    /** Where placements come from and go back to. */
    interface Source {
        /** Selects and takes peer memory of what was seen for a namespace; falls back to none, and says so. */
        PeerPlacement place(Namespace namespace, Controller controller, PeerMemoryProvider seen);

        /** Ends a use; completes when the memory has been given back, if it was the last. */
        CompletableFuture<Void> release(PortPeerMemory memory);
    }

    private final Source source;
    private volatile @Nullable PeerPlacement[] placements = new PeerPlacement[0];
    private boolean closed;

    ControllerPeerMemory(Source source) {
        this.source = source;
    }

    /** Where the namespace's data passes, or null if nobody has looked yet. */
    @Nullable
    PeerPlacement get(int nsid) {
        @Nullable PeerPlacement[] current = placements;
        return nsid < current.length ? current[nsid] : null;
    }

    /** Finds a place for a namespace that has none yet; by one thread at a time. */
    void add(Namespace namespace, Controller controller, PeerMemoryProvider seen) {
        int nsid = namespace.nsid();
        if (controller.isClosed() || get(nsid) != null) {
            return;
        }
        PeerPlacement placement = source.place(namespace, controller, seen);
        boolean kept;
        synchronized (this) {
            kept = !closed;
            if (kept) {
                @Nullable PeerPlacement[] copy = Arrays.copyOf(placements, Math.max(placements.length, nsid + 1));
                copy[nsid] = placement;
                placements = copy;
            }
        }
        if (kept) {
            dropVanished(); // whoever dropped it before has not seen this one
        } else {
            CompletableFuture<Void> _ = release(placement);
        }
    }

    /** The namespace's requests no longer find its place; completes when no memory is held for it any more. */
    CompletableFuture<Void> remove(int nsid) {
        return release(replace(nsid, null));
    }

    /** What was placed in memory that has vanished passes through system memory from now on. */
    void dropVanished() {
        @Nullable PeerPlacement[] current = placements;
        for (int nsid = 0; nsid < current.length; nsid++) {
            PeerPlacement placement = current[nsid];
            PortPeerMemory memory = placement == null ? null : placement.memory();
            if (memory != null && memory.memory().hasVanished()) {
                CompletableFuture<Void> _ = release(replace(nsid, PeerPlacement.VANISHED));
            }
        }
    }

    private synchronized @Nullable PeerPlacement replace(int nsid, @Nullable PeerPlacement by) {
        PeerPlacement before = get(nsid);
        if (before != null) {
            @Nullable PeerPlacement[] copy = placements.clone();
            copy[nsid] = by;
            placements = copy;
        }
        return before;
    }

    /** Gives everything back, now and in future; the controller has ended. */
    void close() {
        List<PeerPlacement> all = new ArrayList<>();
        synchronized (this) {
            closed = true;
            for (PeerPlacement placement : placements) {
                if (placement != null) {
                    all.add(placement);
                }
            }
            placements = new PeerPlacement[0];
        }
        for (PeerPlacement placement : all) {
            CompletableFuture<Void> _ = release(placement);
        }
    }

    private CompletableFuture<Void> release(@Nullable PeerPlacement placement) {
        PortPeerMemory memory = placement == null ? null : placement.memory();
        return memory == null ? CompletableFuture.completedFuture(null) : source.release(memory);
    }
}

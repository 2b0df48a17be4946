package org.nvmf4j.target;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * A peer memory as the lanes of one port use it: each lane has a part of its own, registered once. It lasts from the first controller
 * that takes it for a namespace to the last; {@link PeerMemories} guards all but {@link #at}.
 */
final class PortPeerMemory {
    private final HeldPeerMemory memory;
    private final TargetPort port;
    private final AtomicReferenceArray<@Nullable PeerBuffers> parts;
    /** Namespaces of controllers that use it. */
    int users;
    /** Completes when every part has been given back after the last use. */
    CompletableFuture<Void> drained = CompletableFuture.completedFuture(null);

    PortPeerMemory(HeldPeerMemory memory, TargetPort port) {
        this.memory = memory;
        this.port = port;
        this.parts = new AtomicReferenceArray<>(port.lanes().size());
    }

    HeldPeerMemory memory() {
        return memory;
    }

    TargetPort port() {
        return port;
    }

    int lanes() {
        return parts.length();
    }

    /** The lane's part, if it has one; a lane of another port has none. */
    @Nullable
    PeerBuffers at(TargetLane lane) {
        return lane.port() == port ? parts.get(lane.index()) : null;
    }

    @Nullable
    PeerBuffers part(int lane) {
        return parts.get(lane);
    }

    void part(int lane, @Nullable PeerBuffers part) {
        parts.set(lane, part);
    }

    boolean hasParts() {
        for (int i = 0; i < parts.length(); i++) {
            if (parts.get(i) != null) {
                return true;
            }
        }
        return false;
    }
}

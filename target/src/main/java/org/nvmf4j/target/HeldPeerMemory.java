package org.nvmf4j.target;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.target.spi.PeerBlock;
import org.nvmf4j.target.spi.PeerMemory;

/**
 * A peer memory as the target sees it: what the target holds of it is free for its own namespaces, and once it has vanished it stays
 * so. Thread-safe.
 */
final class HeldPeerMemory implements PeerMemory {
    private static final LimitedLog LOG = new LimitedLog(System.getLogger(HeldPeerMemory.class.getName()));

    private final PeerMemory memory;
    private final Runnable whenVanished;
    private final AtomicLong heldBytes = new AtomicLong();
    private final AtomicBoolean vanished = new AtomicBoolean();

    /**
     * Holds nothing yet.
     *
     * @param whenVanished is run once, on any thread, also on a lane
     */
    HeldPeerMemory(PeerMemory memory, Runnable whenVanished) {
        this.memory = memory;
        this.whenVanished = whenVanished;
    }

    PeerMemory memory() {
        return memory;
    }

    long heldBytes() {
        return heldBytes.get();
    }

    @Override
    public String pciAddress() {
        return memory.pciAddress();
    }

    @Override
    public long sizeBytes() {
        return memory.sizeBytes();
    }

    @Override
    public long freeBytes() {
        return memory.freeBytes() + heldBytes.get();
    }

    @Override
    public boolean isPublished() {
        return memory.isPublished();
    }

    /** Looks, which takes a system call; a memory that cannot be looked at counts as there. */
    @Override
    public boolean isPresent() {
        try {
            if (!vanished.get() && !memory.isPresent()) {
                vanish();
            }
        } catch (RuntimeException e) {
            LOG.warning("cannot look for peer memory " + memory.pciAddress() + ": " + e);
        }
        return !vanished.get();
    }

    /** Whether somebody found it gone before. */
    boolean hasVanished() {
        return vanished.get();
    }

    void vanish() {
        if (vanished.compareAndSet(false, true)) {
            whenVanished.run();
        }
    }

    @Override
    public long losses() {
        return memory.losses();
    }

    @Override
    public String publisher() {
        return memory.publisher();
    }

    @Override
    public @Nullable PeerBlock allocate(long bytes) throws IOException {
        PeerBlock block = memory.allocate(bytes);
        if (block != null) {
            heldBytes.addAndGet(block.segment().byteSize());
        }
        return block;
    }

    /** Closes a block that was allocated. */
    void giveBack(PeerBlock block) {
        heldBytes.addAndGet(-block.segment().byteSize());
        block.close();
    }
}

package org.nvmf4j.target;

import org.jspecify.annotations.Nullable;
import org.nvmf4j.target.spi.PeerBlock;
import org.nvmf4j.verbs.MemoryRegion;

/** A lane's part of a peer memory: a block of it, registered with the lane's device. */
final class PeerBuffers extends BufferSlab {
    private final HeldPeerMemory memory;
    private final PeerBlock block;
    private final PeerMemoryCounters counters;

    PeerBuffers(
            HeldPeerMemory memory,
            PeerBlock block,
            MemoryRegion region,
            int largestOrder,
            PeerMemoryCounters counters) {
        super(region, largestOrder);
        this.memory = memory;
        this.block = block;
        this.counters = counters;
    }

    /** Gives a request's data a place here, or says why not. */
    @Nullable
    PeerMemoryFallback lendTo(Request request) {
        if (memory.hasVanished()) {
            return PeerMemoryFallback.VANISHED;
        }
        int order = orderOf(request.transferBytes());
        if (order > largestOrder()) {
            return PeerMemoryFallback.TOO_LARGE;
        }
        DataBuffer buffer = take(order);
        if (buffer == null) {
            return PeerMemoryFallback.EXHAUSTED;
        }
        request.buffer(buffer);
        counters.taken(request.transferBytes());
        return null;
    }

    @Override
    PeerBlock block() {
        return block;
    }

    @Override
    public void takeBack(DataBuffer buffer) {
        super.takeBack(buffer);
        counters.givenBack();
    }

    @Override
    public boolean isLost(boolean suspicious) {
        return suspicious ? !memory.isPresent() : memory.hasVanished();
    }

    @Override
    public long losses() {
        return memory.losses();
    }

    @Override
    public boolean mayVanish() {
        return true;
    }

    @Override
    public void vanished() {
        memory.vanish();
    }

    @Override
    void close() {
        super.close();
        memory.giveBack(block);
    }
}

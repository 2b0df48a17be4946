package org.nvmf4j.target;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.target.spi.BackendMapping;
import org.nvmf4j.target.spi.PeerBlock;
import org.nvmf4j.verbs.MemoryRegion;

/** A piece of registered memory from which one lane takes data buffers: 4 KiB to the largest, in powers of two. */
class BufferSlab implements DataBuffer.Source {
    static final int UNIT_SHIFT = 12;

    private final MemoryRegion region;
    private final int largestOrder;
    private final Buddies buddies;
    private final ArrayDeque<DataBuffer> spare = new ArrayDeque<>();
    /** What backends have made of the memory, by {@link BackendLanes.Use#index}. */
    private final List<@Nullable BackendMapping> mappings = new ArrayList<>();

    private final List<BackendLanes.Use> mappedFor = new ArrayList<>();
    private int taken;

    /**
     * All of it is free.
     *
     * @param largestOrder the largest buffer has 2^largestOrder units of 4 KiB; what the region has beyond whole ones is not used
     */
    BufferSlab(MemoryRegion region, int largestOrder) {
        this.region = region;
        this.largestOrder = largestOrder;
        this.buddies = new Buddies(largestOrder, (int) (region.lengthBytes() >>> (UNIT_SHIFT + largestOrder)));
    }

    /** The smallest n for which 2^n units hold that many bytes. */
    static int orderOf(int lengthBytes) {
        int units = ((lengthBytes - 1) >>> UNIT_SHIFT) + 1;
        return 32 - Integer.numberOfLeadingZeros(units - 1);
    }

    int largestOrder() {
        return largestOrder;
    }

    /** Buffers that are in use. */
    int taken() {
        return taken;
    }

    /** A buffer of 2^order units, or null if there is none. */
    @Nullable
    DataBuffer take(int order) {
        int unit = buddies.take(order);
        if (unit < 0) {
            return null;
        }
        DataBuffer buffer = spare.pollLast();
        if (buffer == null) {
            buffer = new DataBuffer(this, region.segment(), region.lkey());
        }
        buffer.take((long) unit << UNIT_SHIFT);
        taken++;
        return buffer;
    }

    @Override
    public void takeBack(DataBuffer buffer) {
        buddies.give((int) (buffer.offset() >>> UNIT_SHIFT));
        spare.addLast(buffer);
        taken--;
    }

    @Override
    public BackendMapping mapping(BackendLanes.Use use) {
        BackendMapping mapping = use.index() < mappings.size() ? mappings.get(use.index()) : null;
        return mapping == null ? map(use) : mapping;
    }

    private BackendMapping map(BackendLanes.Use use) {
        BackendMapping made = use.map(this, region.segment(), block());
        while (mappings.size() <= use.index()) {
            mappings.add(null);
        }
        mappings.set(use.index(), made);
        mappedFor.add(use);
        return made;
    }

    /** What peer memory it is, or null. */
    @Nullable
    PeerBlock block() {
        return null;
    }

    /** A backend's part of the lane ends: what it has made of the memory goes. */
    void unmap(BackendLanes.Use use) {
        BackendMapping mapping = mappings.set(use.index(), null);
        mappedFor.remove(use);
        if (mapping != null) {
            mapping.close();
        }
    }

    /**
     * Ends the registration, and first what backends have made of the memory.
     *
     * @throws IllegalStateException if a buffer is still in use
     */
    void close() {
        if (taken != 0) {
            throw new IllegalStateException(taken + " data buffers were not given back");
        }
        while (!mappedFor.isEmpty()) {
            mappedFor.getLast().forget(this);
        }
        region.close();
    }
}

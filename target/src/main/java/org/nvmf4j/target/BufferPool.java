package org.nvmf4j.target;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.VerbsException;

/**
 * A lane's registered data buffers of system memory: 4 KiB to the largest transfer, in powers of two. It grows by slabs up to a limit as
 * they are needed, and then refuses; in steady state nothing is allocated.
 */
final class BufferPool {
    private static final System.Logger LOG = System.getLogger(BufferPool.class.getName());
    private static final int MIN_SLAB_SHIFT = 23;

    private final ProtectionDomain domain;
    private final int largestOrder;
    private final long slabBytes;
    private final int maxSlabs;
    private final Arena arena = Arena.ofShared();
    private final List<BufferSlab> slabs = new ArrayList<>();
    private boolean cannotGrow;

    /**
     * An empty pool.
     *
     * @param maxBufferBytes the largest buffer, a power of two of at least 4096
     * @param limitBytes how much memory it may take; rounded up to a whole slab
     */
    BufferPool(ProtectionDomain domain, int maxBufferBytes, long limitBytes) {
        this.domain = domain;
        this.largestOrder = BufferSlab.orderOf(maxBufferBytes);
        this.slabBytes = Math.max(1L << MIN_SLAB_SHIFT, maxBufferBytes);
        this.maxSlabs = (int) Math.max(1, (limitBytes + slabBytes - 1) / slabBytes);
    }

    /** Buffers that are in use. */
    int taken() {
        int taken = 0;
        for (int i = 0; i < slabs.size(); i++) {
            taken += slabs.get(i).taken();
        }
        return taken;
    }

    long capacityBytes() {
        return slabs.size() * slabBytes;
    }

    /** A buffer of at least that size, or null if all memory is in use. */
    @Nullable
    DataBuffer take(int lengthBytes) {
        int order = BufferSlab.orderOf(lengthBytes);
        for (int i = 0; i < slabs.size(); i++) {
            DataBuffer buffer = slabs.get(i).take(order);
            if (buffer != null) {
                return buffer;
            }
        }
        if (!grow()) {
            return null;
        }
        return take(lengthBytes);
    }

    /** Makes the first slab ahead of the first request. */
    void prepare() {
        if (slabs.isEmpty()) {
            grow();
        }
    }

    private boolean grow() {
        if (slabs.size() == maxSlabs || cannotGrow) {
            return false;
        }
        try {
            MemorySegment memory = arena.allocate(slabBytes, 1L << BufferSlab.UNIT_SHIFT);
            MemoryRegion region = domain.register(memory, EnumSet.of(AccessFlag.LOCAL_WRITE));
            slabs.add(new BufferSlab(region, largestOrder));
            return true;
        } catch (VerbsException | OutOfMemoryError e) {
            cannotGrow = true;
            LOG.log(
                    System.Logger.Level.WARNING,
                    "no more than " + capacityBytes() + " bytes of data buffers on a lane: " + e.getMessage());
            return false;
        }
    }

    /**
     * Frees all memory.
     *
     * @throws IllegalStateException if a buffer is still in use
     */
    void close() {
        int taken = taken();
        if (taken != 0) {
            throw new IllegalStateException(taken + " data buffers were not given back");
        }
        for (BufferSlab slab : slabs) {
            slab.close();
        }
        slabs.clear();
        arena.close();
    }
}

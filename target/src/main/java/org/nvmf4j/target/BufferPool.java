package org.nvmf4j.target;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
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
    private static final int UNIT_SHIFT = 12;
    private static final int MIN_SLAB_SHIFT = 23;

    private final ProtectionDomain domain;
    private final int largestOrder;
    private final long slabBytes;
    private final int maxSlabs;
    private final Arena arena = Arena.ofShared();
    private final List<Slab> slabs = new ArrayList<>();
    private boolean cannotGrow;
    private int taken;

    /**
     * An empty pool.
     *
     * @param maxBufferBytes the largest buffer, a power of two of at least 4096
     * @param limitBytes how much memory it may take; rounded up to a whole slab
     */
    BufferPool(ProtectionDomain domain, int maxBufferBytes, long limitBytes) {
        this.domain = domain;
        this.largestOrder = orderOf(maxBufferBytes);
        this.slabBytes = Math.max(1L << MIN_SLAB_SHIFT, maxBufferBytes);
        this.maxSlabs = (int) Math.max(1, (limitBytes + slabBytes - 1) / slabBytes);
    }

    /** Buffers that are in use. */
    int taken() {
        return taken;
    }

    long capacityBytes() {
        return slabs.size() * slabBytes;
    }

    /** A buffer of at least that size, or null if all memory is in use. */
    @Nullable
    DataBuffer take(int lengthBytes) {
        int order = orderOf(lengthBytes);
        for (int i = 0; i < slabs.size(); i++) {
            DataBuffer buffer = slabs.get(i).take(order);
            if (buffer != null) {
                taken++;
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
            MemorySegment memory = arena.allocate(slabBytes, 1L << UNIT_SHIFT);
            MemoryRegion region = domain.register(memory, EnumSet.of(AccessFlag.LOCAL_WRITE));
            slabs.add(new Slab(region));
            return true;
        } catch (VerbsException | OutOfMemoryError e) {
            cannotGrow = true;
            LOG.log(
                    System.Logger.Level.WARNING,
                    "no more than " + capacityBytes() + " bytes of data buffers on a lane: " + e.getMessage());
            return false;
        }
    }

    private static int orderOf(int lengthBytes) {
        int units = ((lengthBytes - 1) >>> UNIT_SHIFT) + 1;
        return 32 - Integer.numberOfLeadingZeros(units - 1);
    }

    /**
     * Frees all memory.
     *
     * @throws IllegalStateException if a buffer is still in use
     */
    void close() {
        if (taken != 0) {
            throw new IllegalStateException(taken + " data buffers were not given back");
        }
        for (Slab slab : slabs) {
            slab.region.close();
        }
        slabs.clear();
        arena.close();
    }

    private final class Slab implements DataBuffer.Source {
        private final MemoryRegion region;
        private final Buddies buddies;
        private final ArrayDeque<DataBuffer> spare = new ArrayDeque<>();

        Slab(MemoryRegion region) {
            this.region = region;
            this.buddies = new Buddies(largestOrder, (int) (slabBytes >>> (UNIT_SHIFT + largestOrder)));
        }

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
            return buffer;
        }

        @Override
        public void takeBack(DataBuffer buffer) {
            buddies.give((int) (buffer.offset() >>> UNIT_SHIFT));
            spare.addLast(buffer);
            taken--;
        }
    }
}

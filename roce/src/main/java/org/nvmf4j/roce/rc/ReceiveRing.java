package org.nvmf4j.roce.rc;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.spi.QueuePairChecks;

/** A ring of posted receives: a queue pair's own, or one that several share, each of whose messages takes the oldest. One thread only. */
public final class ReceiveRing {
    private final int capacity;
    private final int mask;
    private final long[] ids;
    private final long[] lengths;
    private final ScatterGather sges;

    /** Counts receives taken and posted; low bits are indexes. */
    private long head;

    private long tail;

    /**
     * An empty ring.
     *
     * @param capacity receives posted at most, 1 to 65,536
     * @param maxSge elements of a scatter/gather list at most, 1 to 256
     */
    public ReceiveRing(int capacity, int maxSge) {
        RcSizes.check("receives", capacity, 1, RcSizes.MAX_REQUESTS);
        RcSizes.check("SGEs", maxSge, 1, RcSizes.MAX_SGE);
        this.capacity = capacity;
        int slots = SendQueue.slots(capacity);
        mask = slots - 1;
        ids = new long[slots];
        lengths = new long[slots];
        sges = new ScatterGather(slots, maxSge);
    }

    /**
     * Takes a chain whole, or throws and takes nothing of it.
     *
     * @throws IllegalStateException if there is no room for the chain
     * @throws IllegalArgumentException if a request has too many SGEs
     */
    public void post(ReceiveWorkRequest first) {
        QueuePairChecks.receives(first, sges.maxSge(), capacity - (tail - head));
        for (@Nullable ReceiveWorkRequest request = first; request != null; request = request.next()) {
            int slot = (int) tail & mask;
            ids[slot] = request.id();
            lengths[slot] = Math.min(request.lengthBytes(), Integer.MAX_VALUE);
            sges.take(slot, request);
            tail++;
        }
    }

    int maxSge() {
        return sges.maxSge();
    }

    boolean isEmpty() {
        return head == tail;
    }

    /** The user's id of the oldest. */
    long id() {
        return ids[(int) head & mask];
    }

    /** Bytes that the oldest takes. */
    long lengthBytes() {
        return lengths[(int) head & mask];
    }

    /** Writes to the oldest; see {@link ScatterGather#scatter}. */
    boolean write(RcContext context, long offset, MemorySegment source, long sourceOffset, int length) {
        return sges.scatter(context, (int) head & mask, offset, source, sourceOffset, length);
    }

    /** Takes the oldest out. */
    void remove() {
        head++;
    }

    /** Moves the oldest of another ring here, which has room for it. */
    void takeFrom(ReceiveRing other) {
        int slot = (int) tail & mask;
        ids[slot] = other.id();
        lengths[slot] = other.lengthBytes();
        sges.take(slot, other.sges, (int) other.head & other.mask);
        tail++;
        other.remove();
    }

    /** Forgets what is posted. */
    public void clear() {
        head = tail;
    }
}

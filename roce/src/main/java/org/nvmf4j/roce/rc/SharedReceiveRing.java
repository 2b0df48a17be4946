package org.nvmf4j.roce.rc;

import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.spi.QueuePairChecks;

/** The ring of receives that queue pairs share: each takes the oldest when a message of its own begins. One thread only. */
public final class SharedReceiveRing {
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
    public SharedReceiveRing(int capacity, int maxSge) {
        RcSizes.check("shared receives", capacity, 1, RcSizes.MAX_REQUESTS);
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
            lengths[slot] = ReceiveQueue.lengthOf(request);
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

    long id() {
        return ids[(int) head & mask];
    }

    long lengthBytes() {
        return lengths[(int) head & mask];
    }

    /** Moves the oldest to a queue pair's own ring, with its list. */
    void moveTo(ScatterGather to, int slot) {
        to.take(slot, sges, (int) head & mask);
        head++;
    }

    /** Forgets what is posted. */
    public void clear() {
        head = tail;
    }
}

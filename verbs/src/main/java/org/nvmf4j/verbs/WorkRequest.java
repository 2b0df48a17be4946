package org.nvmf4j.verbs;

import java.lang.foreign.MemorySegment;

/**
 * What send and receive work requests share: an id and a scatter/gather list. Made once, filled and posted many times; the
 * object may be changed as soon as the post returns, the memory it names only as said at {@link QueuePair#postSend}.
 *
 * <p>Not thread-safe: belongs to the lane of its queue pair.
 */
public abstract sealed class WorkRequest permits SendWorkRequest, ReceiveWorkRequest {
    private long id;
    private int sgeCount;
    private final MemorySegment[] segments;
    private final long[] offsets;
    private final int[] lengths;
    private final int[] lkeys;

    WorkRequest(int maxSge) {
        segments = new MemorySegment[maxSge];
        offsets = new long[maxSge];
        lengths = new int[maxSge];
        lkeys = new int[maxSge];
        java.util.Arrays.fill(segments, MemorySegment.NULL);
    }

    /** The user's own number, given back in the completion. */
    public final long id() {
        return id;
    }

    public final void id(long id) {
        this.id = id;
    }

    /** Empties the scatter/gather list. */
    public final void clearSges() {
        sgeCount = 0;
    }

    /**
     * Adds an element.
     *
     * @param segment native memory
     * @param offset first byte, counted from the segment's start
     * @param length in bytes, 0 allowed
     * @param lkey of a region that holds the bytes; not looked at where the post goes inline
     * @throws IllegalStateException if the list is full
     */
    public final void addSge(MemorySegment segment, long offset, int length, int lkey) {
        if (sgeCount == segments.length) {
            throw new IllegalStateException("the work request takes " + segments.length + " SGEs");
        }
        segments[sgeCount] = segment;
        offsets[sgeCount] = offset;
        lengths[sgeCount] = length;
        lkeys[sgeCount] = lkey;
        sgeCount++;
    }

    /** Replaces the list by one element that lies in a registered region. */
    public final void setSge(MemoryRegion region, long offset, int length) {
        sgeCount = 0;
        addSge(region.segment(), offset, length, region.lkey());
    }

    public final int sgeCount() {
        return sgeCount;
    }

    public final MemorySegment sgeSegment(int i) {
        return segments[i];
    }

    public final long sgeOffset(int i) {
        return offsets[i];
    }

    public final int sgeLength(int i) {
        return lengths[i];
    }

    public final int sgeLkey(int i) {
        return lkeys[i];
    }

    /** Sum of the elements' lengths in bytes. */
    public final long lengthBytes() {
        long sum = 0;
        for (int i = 0; i < sgeCount; i++) {
            sum += lengths[i];
        }
        return sum;
    }
}

package org.nvmf4j.verbs.loopback;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.OnDemandMemory;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.WorkRequest;
import org.nvmf4j.verbs.spi.MemoryTable;

/**
 * The elements of one posted work request: first as named by it, then {@linkplain #resolve resolved} to registered memory. Made once
 * per slot of a queue.
 */
final class ScatterGatherList {
    private static final int PAGE_BYTES = 4096;

    private final long[] addresses;
    private final int[] lengths;
    private final int[] lkeys;
    private final MemorySegment[] segments;
    private final long[] offsets;
    private int count;
    private long totalBytes;
    /** Whether some of the memory may have been taken away. */
    private boolean onDemand;

    ScatterGatherList(int maxSge) {
        addresses = new long[maxSge];
        lengths = new int[maxSge];
        lkeys = new int[maxSge];
        segments = new MemorySegment[maxSge];
        offsets = new long[maxSge];
        Arrays.fill(segments, MemorySegment.NULL);
    }

    long totalBytes() {
        return totalBytes;
    }

    /** Notes what a work request names, for {@link #resolve}. */
    void takeReferences(WorkRequest request) {
        count = request.sgeCount();
        totalBytes = request.lengthBytes();
        for (int i = 0; i < count; i++) {
            addresses[i] = request.sgeSegment(i).address() + request.sgeOffset(i);
            lengths[i] = request.sgeLength(i);
            lkeys[i] = request.sgeLkey(i);
        }
    }

    /**
     * Copies a work request's data to {@code offset} of a segment, which becomes the only element.
     *
     * @return false if the data is gone
     */
    boolean takeInline(MemoryTable memory, WorkRequest request, MemorySegment room, long offset) {
        count = 1;
        onDemand = false;
        totalBytes = request.lengthBytes();
        segments[0] = room;
        offsets[0] = offset;
        lengths[0] = (int) totalBytes;
        return memory.copyInline(request, room, offset);
    }

    /**
     * Looks the lkeys of the first {@code bytes} up; elements beyond them and empty ones need no key.
     *
     * @param write whether the device is about to write
     * @return false if a key, domain, range or right is wrong
     */
    boolean resolve(MemoryTable memory, ProtectionDomain domain, long bytes, boolean write) {
        long left = bytes;
        onDemand = false;
        for (int i = 0; i < count && left > 0; i++) {
            if (lengths[i] != 0) {
                MemoryRegion region = memory.local(domain, lkeys[i], addresses[i], lengths[i], write);
                if (region == null) {
                    return false;
                }
                segments[i] = region.segment();
                offsets[i] = addresses[i] - region.address();
                onDemand |= region.isOnDemand();
                left -= lengths[i];
            }
        }
        return true;
    }

    /** Writes all of this list's data to one place; false if memory of either is gone. */
    boolean gatherTo(MemoryRegion to, long offset) {
        boolean guarded = onDemand || to.isOnDemand();
        long at = offset;
        for (int i = 0; i < count; i++) {
            if (!copy(guarded, segments[i], offsets[i], to.segment(), at, lengths[i])) {
                return false;
            }
            at += lengths[i];
        }
        return true;
    }

    /** Fills all of this list from one place; false if memory of either is gone. */
    boolean scatterFrom(MemoryRegion from, long offset) {
        boolean guarded = onDemand || from.isOnDemand();
        long at = offset;
        for (int i = 0; i < count; i++) {
            if (!copy(guarded, from.segment(), at, segments[i], offsets[i], lengths[i])) {
                return false;
            }
            at += lengths[i];
        }
        return true;
    }

    private static boolean copy(
            boolean guarded, MemorySegment from, long fromOffset, MemorySegment to, long toOffset, long bytes) {
        if (guarded) {
            return OnDemandMemory.copy(from, fromOffset, to, toOffset, bytes);
        }
        MemorySegment.copy(from, fromOffset, to, toOffset, bytes);
        return true;
    }

    /** After a copy that failed: whether all of this list's memory is still there, so that the other side's is not. */
    boolean isThere() {
        MemorySegment seen = MemorySegment.ofArray(new byte[PAGE_BYTES]);
        for (int i = 0; onDemand && i < count; i++) {
            for (int at = 0; at < lengths[i]; at += PAGE_BYTES) {
                int bytes = Math.min(PAGE_BYTES, lengths[i] - at);
                if (!OnDemandMemory.copy(segments[i], offsets[i] + at, seen, 0, bytes)) {
                    return false;
                }
            }
        }
        return true;
    }

    /** Writes all of this list's data to the beginning of another, which has room for it; false if memory of either is gone. */
    boolean copyTo(ScatterGatherList to) {
        boolean guarded = onDemand || to.onDemand;
        int t = 0;
        long filled = 0;
        for (int i = 0; i < count; i++) {
            long taken = 0;
            while (taken < lengths[i]) {
                if (filled == to.lengths[t]) {
                    t++;
                    filled = 0;
                    continue;
                }
                long n = Math.min(lengths[i] - taken, to.lengths[t] - filled);
                if (!copy(guarded, segments[i], offsets[i] + taken, to.segments[t], to.offsets[t] + filled, n)) {
                    return false;
                }
                taken += n;
                filled += n;
            }
        }
        return true;
    }
}

package org.nvmf4j.verbs.loopback;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.WorkRequest;
import org.nvmf4j.verbs.spi.MemoryTable;

/**
 * The elements of one posted work request: first as named by it, then {@linkplain #resolve resolved} to registered memory. Made once
 * per slot of a queue.
 */
final class ScatterGatherList {
    private final long[] addresses;
    private final int[] lengths;
    private final int[] lkeys;
    private final MemorySegment[] segments;
    private final long[] offsets;
    private int count;
    private long totalBytes;

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

    /** Copies a work request's data to {@code offset} of a segment, which becomes the only element. */
    void takeInline(WorkRequest request, MemorySegment room, long offset) {
        long to = offset;
        for (int i = 0; i < request.sgeCount(); i++) {
            MemorySegment.copy(request.sgeSegment(i), request.sgeOffset(i), room, to, request.sgeLength(i));
            to += request.sgeLength(i);
        }
        count = 1;
        totalBytes = to - offset;
        segments[0] = room;
        offsets[0] = offset;
        lengths[0] = (int) totalBytes;
    }

    /**
     * Looks the lkeys of the first {@code bytes} up; elements beyond them and empty ones need no key.
     *
     * @param write whether the device is about to write
     * @return false if a key, domain, range or right is wrong
     */
    boolean resolve(MemoryTable memory, ProtectionDomain domain, long bytes, boolean write) {
        long left = bytes;
        for (int i = 0; i < count && left > 0; i++) {
            if (lengths[i] != 0) {
                MemoryRegion region = memory.local(domain, lkeys[i], addresses[i], lengths[i], write);
                if (region == null) {
                    return false;
                }
                segments[i] = region.segment();
                offsets[i] = addresses[i] - region.address();
                left -= lengths[i];
            }
        }
        return true;
    }

    /** Writes all of this list's data to one place. */
    void gatherTo(MemorySegment to, long offset) {
        long at = offset;
        for (int i = 0; i < count; i++) {
            MemorySegment.copy(segments[i], offsets[i], to, at, lengths[i]);
            at += lengths[i];
        }
    }

    /** Fills all of this list from one place. */
    void scatterFrom(MemorySegment from, long offset) {
        long at = offset;
        for (int i = 0; i < count; i++) {
            MemorySegment.copy(from, at, segments[i], offsets[i], lengths[i]);
            at += lengths[i];
        }
    }

    /** Writes all of this list's data to the beginning of another, which has room for it. */
    void copyTo(ScatterGatherList to) {
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
                MemorySegment.copy(segments[i], offsets[i] + taken, to.segments[t], to.offsets[t] + filled, n);
                taken += n;
                filled += n;
            }
        }
    }
}

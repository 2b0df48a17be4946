package org.nvmf4j.roce.rc;

import java.lang.foreign.MemorySegment;
import org.nvmf4j.roce.wire.PacketSink;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.WorkRequest;

/**
 * The scatter/gather lists of a ring of work requests, in flat arrays. Every access looks the lkey up again, so that a region
 * closed after the post is noticed.
 */
final class ScatterGather {
    private final int maxSge;
    private final int[] counts;
    private final long[] addresses;
    private final int[] lengths;
    private final int[] lkeys;

    ScatterGather(int slots, int maxSge) {
        this.maxSge = maxSge;
        counts = new int[slots];
        addresses = new long[slots * maxSge];
        lengths = new int[slots * maxSge];
        lkeys = new int[slots * maxSge];
    }

    int maxSge() {
        return maxSge;
    }

    void take(int slot, WorkRequest request) {
        int count = request.sgeCount();
        counts[slot] = count;
        for (int i = 0, at = slot * maxSge; i < count; i++, at++) {
            addresses[at] = request.sgeSegment(i).address() + request.sgeOffset(i);
            lengths[at] = request.sgeLength(i);
            lkeys[at] = request.sgeLkey(i);
        }
    }

    /** Copies a list of another ring, which has no longer ones. */
    void take(int slot, ScatterGather from, int fromSlot) {
        int count = from.counts[fromSlot];
        counts[slot] = count;
        System.arraycopy(from.addresses, fromSlot * from.maxSge, addresses, slot * maxSge, count);
        System.arraycopy(from.lengths, fromSlot * from.maxSge, lengths, slot * maxSge, count);
        System.arraycopy(from.lkeys, fromSlot * from.maxSge, lkeys, slot * maxSge, count);
    }

    /** Whether the device may use the message's bytes from {@code offset}, which must lie inside the list. */
    boolean allows(RcContext context, int slot, long offset, int length, boolean write) {
        long skip = offset;
        int left = length;
        for (int at = slot * maxSge; left > 0; at++) {
            if (skip >= lengths[at]) {
                skip -= lengths[at];
                continue;
            }
            int piece = (int) Math.min(left, lengths[at] - skip);
            if (context.memory.local(context.domain, lkeys[at], addresses[at] + skip, piece, write) == null) {
                return false;
            }
            left -= piece;
            skip = 0;
        }
        return true;
    }

    /**
     * Names the message's bytes from {@code offset} to the sink; {@link #allows} must have allowed them just before.
     *
     * @return false if memory was taken away; the packet is dropped
     */
    boolean gather(RcContext context, int slot, long offset, int length, PacketSink sink) {
        long skip = offset;
        int left = length;
        for (int at = slot * maxSge; left > 0; at++) {
            if (skip >= lengths[at]) {
                skip -= lengths[at];
                continue;
            }
            int piece = (int) Math.min(left, lengths[at] - skip);
            long address = addresses[at] + skip;
            MemoryRegion region = context.memory.local(context.domain, lkeys[at], address, piece, false);
            if (region == null) {
                throw new IllegalStateException("a memory region was closed while a packet was made from it");
            }
            if (!RegionAccess.gather(region, address, piece, sink)) {
                return false;
            }
            left -= piece;
            skip = 0;
        }
        return true;
    }

    /**
     * Writes bytes to the message from {@code offset}, which must lie inside the list.
     *
     * @return false if a key, domain, range or right was wrong, or memory was taken away; nothing outside registered memory was written
     */
    boolean scatter(RcContext context, int slot, long offset, MemorySegment source, long sourceOffset, int length) {
        long skip = offset;
        int done = 0;
        for (int at = slot * maxSge; done < length; at++) {
            if (skip >= lengths[at]) {
                skip -= lengths[at];
                continue;
            }
            int piece = (int) Math.min(length - done, lengths[at] - skip);
            long address = addresses[at] + skip;
            MemoryRegion region = context.memory.local(context.domain, lkeys[at], address, piece, true);
            if (region == null || !RegionAccess.scatter(region, address, source, sourceOffset + done, piece)) {
                return false;
            }
            done += piece;
            skip = 0;
        }
        return true;
    }
}

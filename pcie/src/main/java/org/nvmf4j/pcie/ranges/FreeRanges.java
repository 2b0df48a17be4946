package org.nvmf4j.pcie.ranges;

import java.util.Map;
import java.util.TreeMap;

/** What is free of some addresses or offsets, which lie between 0 and {@link Long#MAX_VALUE}. Ends are exclusive. Not thread-safe. */
public final class FreeRanges {
    /** Start to end; they neither overlap nor touch. */
    private final TreeMap<Long, Long> ranges = new TreeMap<>();

    /**
     * Frees a range.
     *
     * @throws IllegalArgumentException if some of it is free already, or it is empty
     */
    public void add(long start, long end) {
        if (start < 0 || start >= end || freeBytes(start, end) > 0) {
            throw new IllegalArgumentException(String.format("0x%x to 0x%x is empty or free already", start, end));
        }
        long from = start;
        long to = end;
        Map.Entry<Long, Long> before = ranges.floorEntry(start);
        if (before != null && before.getValue() == start) {
            from = before.getKey();
        }
        Long after = ranges.remove(end);
        if (after != null) {
            to = after;
        }
        ranges.put(from, to);
    }

    /** Takes whatever is free of a range. */
    public void remove(long start, long end) {
        Map.Entry<Long, Long> range = ranges.lowerEntry(end);
        while (range != null && range.getValue() > start) {
            ranges.remove(range.getKey());
            if (range.getKey() < start) {
                ranges.put(range.getKey(), start);
            }
            if (range.getValue() > end) {
                ranges.put(end, range.getValue());
            }
            range = ranges.lowerEntry(start);
        }
    }

    /**
     * Takes the lowest piece that fits.
     *
     * @param bytes positive
     * @param alignment of its start, a power of two
     * @param from where it may start at the lowest
     * @return its start, or -1 if there is none
     */
    public long take(long bytes, long alignment, long from) {
        for (Map.Entry<Long, Long> range : ranges.entrySet()) {
            long start = Math.max(range.getKey(), from) + alignment - 1 & -alignment;
            if (start >= range.getKey() && range.getValue() - start >= bytes) {
                remove(start, start + bytes);
                return start;
            }
        }
        return -1;
    }

    public long freeBytes() {
        return freeBytes(0, Long.MAX_VALUE);
    }

    /** What is free of a range. */
    public long freeBytes(long start, long end) {
        long bytes = 0;
        for (Map.Entry<Long, Long> range : ranges.headMap(end).entrySet()) {
            bytes += Math.max(0, Math.min(range.getValue(), end) - Math.max(range.getKey(), start));
        }
        return bytes;
    }
}

package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * The discovery log page, {@link LogPage#DISCOVERY} (NVMe Base 2.0): a header of 1024 bytes and entries of 1024 bytes. A
 * host reads the header, then the entries in pieces, then the header again: if the generation counter changed it begins anew.
 *
 * @param genctr generation counter, unsigned: changes with every change of the page
 * @param entries at most {@link #MAX_ENTRIES}
 */
public record DiscoveryLogPage(long genctr, List<DiscoveryLogEntry> entries) {
    public static final int HEADER_BYTES = 1024;
    /** How much of the header has content; a host may ask for as little. */
    public static final int HEADER_CONTENT_BYTES = 20;
    /** More than any discovery subsystem has; a bound for what a host believes. */
    public static final int MAX_ENTRIES = 65_536;

    private static final int NUMREC = 8;
    private static final int RECFMT = 16;

    public DiscoveryLogPage {
        entries = List.copyOf(entries);
        if (entries.size() > MAX_ENTRIES) {
            throw new IllegalArgumentException(entries.size() + " discovery log entries, at most " + MAX_ENTRIES);
        }
    }

    /** Generation counter in the header at {@code offset}. */
    public static long genctr(MemorySegment segment, long offset) {
        return Bytes.u64(segment, offset);
    }

    /**
     * Number of entries in the header at {@code offset}, of which 20 bytes are read.
     *
     * @throws NvmeFormatException if the record format is unknown or the number is not believable
     */
    public static int numrec(MemorySegment segment, long offset) throws NvmeFormatException {
        int recfmt = Bytes.u16(segment, offset + RECFMT);
        if (recfmt != 0) {
            throw new NvmeFormatException("discovery log page with record format " + recfmt + ", only 0 is known");
        }
        long numrec = Bytes.u64(segment, offset + NUMREC);
        if (numrec < 0 || numrec > MAX_ENTRIES) {
            throw new NvmeFormatException("discovery log page with " + Long.toUnsignedString(numrec)
                    + " entries, at most " + MAX_ENTRIES + " are believed");
        }
        return (int) numrec;
    }

    /**
     * Reads a whole page.
     *
     * @param lengthBytes bytes that there are from {@code offset}
     * @throws NvmeFormatException if they are fewer than the header and its number of entries need, or the header is broken
     */
    public static DiscoveryLogPage parse(MemorySegment segment, long offset, long lengthBytes)
            throws NvmeFormatException {
        if (lengthBytes < HEADER_BYTES) {
            throw new NvmeFormatException("discovery log page of " + lengthBytes + " bytes is shorter than its header");
        }
        int numrec = numrec(segment, offset);
        if (numrec > (lengthBytes - HEADER_BYTES) / DiscoveryLogEntry.SIZE_BYTES) {
            throw new NvmeFormatException(
                    "discovery log page of " + lengthBytes + " bytes is too short for its " + numrec + " entries");
        }
        List<DiscoveryLogEntry> entries = new ArrayList<>(numrec);
        for (int i = 0; i < numrec; i++) {
            entries.add(
                    DiscoveryLogEntry.parse(segment, offset + HEADER_BYTES + (long) i * DiscoveryLogEntry.SIZE_BYTES));
        }
        return new DiscoveryLogPage(genctr(segment, offset), entries);
    }

    /** How much {@link #write} writes. */
    public int sizeBytes() {
        return HEADER_BYTES + entries.size() * DiscoveryLogEntry.SIZE_BYTES;
    }

    /** Writes the whole page. */
    public void write(MemorySegment segment, long offset) {
        segment.asSlice(offset, HEADER_BYTES).fill((byte) 0);
        Bytes.u64(segment, offset, genctr);
        Bytes.u64(segment, offset + NUMREC, entries.size());
        long at = offset + HEADER_BYTES;
        for (DiscoveryLogEntry entry : entries) {
            entry.write(segment, at);
            at += DiscoveryLogEntry.SIZE_BYTES;
        }
    }
}

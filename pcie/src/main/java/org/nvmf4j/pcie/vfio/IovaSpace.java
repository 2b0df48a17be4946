package org.nvmf4j.pcie.vfio;

import java.io.IOException;
import java.util.List;
import org.nvmf4j.pcie.ranges.FreeRanges;

/**
 * The addresses that devices of a container may use for memory. Kept out is what the IOMMU reserves, and where BARs are: such an address
 * may never reach the IOMMU, since a switch on the way, or the device itself if it is in its CMB, takes it. Not thread-safe.
 */
final class IovaSpace {
    static final long PAGE_BYTES = 4096;

    private static final long HUGE_PAGE_BYTES = 2L << 20;
    /** Above what devices of old, interrupts and most BARs use. */
    private static final long PREFERRED_START = 1L << 32;

    /**
     * Addresses.
     *
     * @param end exclusive
     */
    record Range(long start, long end) {}

    private final FreeRanges free = new FreeRanges();

    /** Free or taken. */
    private final FreeRanges usable = new FreeRanges();

    /**
     * A space of which nothing is taken.
     *
     * @param ranges that the IOMMU translates; whole pages of them are used
     */
    IovaSpace(List<Range> ranges) {
        for (Range range : ranges) {
            long start = Math.max(PAGE_BYTES, range.start + PAGE_BYTES - 1 & -PAGE_BYTES); // a PRP entry of 0 is none
            long end = range.end & -PAGE_BYTES;
            if (start < end) {
                free.add(start, end);
                usable.add(start, end);
            }
        }
    }

    /**
     * Keeps a range out from now on.
     *
     * @param range both ends at least 0
     * @throws IOException if some of it is taken
     */
    void exclude(Range range) throws IOException {
        long start = range.start & -PAGE_BYTES;
        long end = Math.max(start, range.end + PAGE_BYTES - 1 & -PAGE_BYTES);
        if (usable.freeBytes(start, end) != free.freeBytes(start, end)) {
            throw new IOException(String.format(
                    "memory is mapped where a device has come to be (0x%x): open it before memory is mapped", start));
        }
        free.remove(start, end);
        usable.remove(start, end);
    }

    /**
     * Takes a piece of whole pages.
     *
     * @param bytes a multiple of 4096
     * @throws IOException if there is no room
     */
    long allocate(long bytes) throws IOException {
        long alignment = bytes >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : PAGE_BYTES;
        long start = free.take(bytes, alignment, PREFERRED_START);
        if (start < 0) {
            start = free.take(bytes, PAGE_BYTES, 0);
        }
        if (start < 0) {
            throw new IOException("no room for " + bytes + " bytes in the addresses that the IOMMU translates");
        }
        return start;
    }

    /** Gives a piece back. */
    void free(long start, long bytes) {
        free.add(start, start + bytes);
    }
}

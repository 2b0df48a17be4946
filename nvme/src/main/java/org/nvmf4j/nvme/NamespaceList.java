package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * A list of up to 1,024 NSIDs, ascending and ended by 0 unless full, in 4096 bytes: the answer to Identify with an active namespace
 * list, and the Changed Namespace List log page (NVMe Base 2.0).
 */
public final class NamespaceList {
    public static final int SIZE_BYTES = 4096;
    public static final int MAX_ENTRIES = SIZE_BYTES / Integer.BYTES;
    /** First in a Changed Namespace List: more namespaces changed than fit, and what follows means nothing. */
    public static final int CHANGED_TOO_MANY = 0xffff_ffff;

    private NamespaceList() {}

    /**
     * Reads an active namespace list of 4096 bytes.
     *
     * @throws NvmeFormatException if the list does not ascend, which would let a reader who goes on behind the last one run for ever
     */
    public static int[] parse(MemorySegment segment, long offset) throws NvmeFormatException {
        int[] nsids = parseChanged(segment, offset);
        for (int i = 1; i < nsids.length; i++) {
            if (Integer.compareUnsigned(nsids[i], nsids[i - 1]) <= 0) {
                throw new NvmeFormatException("namespace list: NSID " + Integer.toUnsignedString(nsids[i])
                        + " comes after " + Integer.toUnsignedString(nsids[i - 1]));
            }
        }
        return nsids;
    }

    /** Reads a Changed Namespace List of 4096 bytes, which a Linux target leaves in the order of the changes. */
    public static int[] parseChanged(MemorySegment segment, long offset) {
        int[] nsids = new int[MAX_ENTRIES];
        int count = 0;
        while (count < MAX_ENTRIES) {
            int nsid = Bytes.u32(segment, offset + 4L * count);
            if (nsid == 0) {
                break;
            }
            nsids[count++] = nsid;
        }
        return Arrays.copyOf(nsids, count);
    }

    /**
     * Writes all 4096 bytes.
     *
     * @param nsids ascending, none of them 0
     * @param count how many of them, at most 1,024
     */
    public static void write(MemorySegment segment, long offset, int[] nsids, int count) {
        if (count > MAX_ENTRIES) {
            throw new IllegalArgumentException(count + " NSIDs, at most " + MAX_ENTRIES + " fit");
        }
        segment.asSlice(offset, SIZE_BYTES).fill((byte) 0);
        MemorySegment.copy(nsids, 0, segment, Bytes.INT, offset, count);
    }
}

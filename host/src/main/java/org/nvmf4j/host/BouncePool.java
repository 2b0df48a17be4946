package org.nvmf4j.host;

import java.util.BitSet;

/** Registered memory of one lane, lent in runs of 4 KiB to requests whose own memory is not registered. */
final class BouncePool {
    static final int UNIT_BYTES = 4096;

    private final BitSet used = new BitSet();
    private final int units;

    BouncePool(int units) {
        this.units = units;
    }

    private static int units(int lengthBytes) {
        return (lengthBytes + UNIT_BYTES - 1) / UNIT_BYTES;
    }

    /**
     * Takes a run.
     *
     * @return where it begins in bytes, or −1 if there is none of that length now
     */
    int allocate(int lengthBytes) {
        int wanted = units(lengthBytes);
        int start = used.nextClearBit(0);
        while (start + wanted <= units) {
            int end = used.nextSetBit(start);
            if (end < 0 || end - start >= wanted) {
                used.set(start, start + wanted);
                return start * UNIT_BYTES;
            }
            start = used.nextClearBit(end);
        }
        return -1;
    }

    void free(int offset, int lengthBytes) {
        int start = offset / UNIT_BYTES;
        used.clear(start, start + units(lengthBytes));
    }

    boolean isEmpty() {
        return used.isEmpty();
    }
}

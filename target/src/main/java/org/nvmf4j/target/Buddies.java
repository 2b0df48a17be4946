package org.nvmf4j.target;

import java.util.Arrays;

/**
 * Buddy allocator over numbered units: blocks of 2^n units, split when a smaller one is wanted, joined again when both halves are
 * free. Takes and gives in a few steps without allocating. Knows nothing of memory.
 */
final class Buddies {
    private static final int NONE = -1;
    private static final byte NOT_A_START = -1;

    private final int orders;
    /** First free block of an order. */
    private final int[] heads;

    private final int[] next;
    private final int[] previous;
    /** Of the block that starts at a unit: its order, or NOT_A_START. */
    private final byte[] order;

    private final boolean[] free;
    private int freeUnits;

    /**
     * All units are free.
     *
     * @param largestOrder of a block
     * @param largestBlocks how many of these there are
     */
    Buddies(int largestOrder, int largestBlocks) {
        int units = largestBlocks << largestOrder;
        orders = largestOrder + 1;
        heads = new int[orders];
        next = new int[units];
        previous = new int[units];
        order = new byte[units];
        free = new boolean[units];
        Arrays.fill(heads, NONE);
        Arrays.fill(order, NOT_A_START);
        for (int i = largestBlocks - 1; i >= 0; i--) {
            link(i << largestOrder, largestOrder);
        }
        freeUnits = units;
    }

    int units() {
        return next.length;
    }

    int freeUnits() {
        return freeUnits;
    }

    /** Takes 2^order units; returns the first one's number, or -1 if no such block is free. */
    int take(int wantedOrder) {
        int found = wantedOrder;
        while (found < orders && heads[found] == NONE) {
            found++;
        }
        if (found >= orders) {
            return NONE;
        }
        int unit = heads[found];
        unlink(unit, found);
        while (found > wantedOrder) {
            found--;
            link(unit + (1 << found), found);
        }
        order[unit] = (byte) wantedOrder;
        freeUnits -= 1 << wantedOrder;
        return unit;
    }

    /**
     * Gives a block back.
     *
     * @param unit what {@link #take} returned
     * @throws IllegalStateException if it is not taken
     */
    void give(int unit) {
        if (unit < 0 || unit >= order.length || free[unit] || order[unit] == NOT_A_START) {
            throw new IllegalStateException("block " + unit + " was given back without being taken");
        }
        int own = order[unit];
        freeUnits += 1 << own;
        order[unit] = NOT_A_START;
        int start = unit;
        while (own + 1 < orders) {
            int buddy = start ^ (1 << own);
            if (!free[buddy] || order[buddy] != own) {
                break;
            }
            unlink(buddy, own);
            start &= buddy;
            own++;
        }
        link(start, own);
    }

    private void link(int unit, int at) {
        int head = heads[at];
        next[unit] = head;
        previous[unit] = NONE;
        if (head != NONE) {
            previous[head] = unit;
        }
        heads[at] = unit;
        order[unit] = (byte) at;
        free[unit] = true;
    }

    private void unlink(int unit, int at) {
        int before = previous[unit];
        int after = next[unit];
        if (before == NONE) {
            heads[at] = after;
        } else {
            next[before] = after;
        }
        if (after != NONE) {
            previous[after] = before;
        }
        order[unit] = NOT_A_START;
        free[unit] = false;
    }
}

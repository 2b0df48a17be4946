package org.nvmf4j.target;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** Counters that one thread writes and any thread reads, at the cost of plain fields. */
final class Counts {
    private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(long[].class);

    private final long[] counts;

    Counts(int size) {
        counts = new long[size];
    }

    void add(int index, long amount) {
        ELEMENT.setOpaque(counts, index, counts[index] + amount);
    }

    void set(int index, long value) {
        ELEMENT.setOpaque(counts, index, value);
    }

    long get(int index) {
        return (long) ELEMENT.getOpaque(counts, index);
    }
}

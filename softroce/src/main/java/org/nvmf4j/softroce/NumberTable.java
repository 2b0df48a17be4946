package org.nvmf4j.softroce;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A map from queue pair numbers, none of which is 0: open addressing with linear probing, at most half full. Belongs to one lane;
 * looking up allocates nothing.
 */
final class NumberTable<T> {
    private int[] numbers = new int[16];
    private @Nullable Object[] values = new Object[16];
    private int size;

    int size() {
        return size;
    }

    /** What is kept under a number, or null. */
    @SuppressWarnings("unchecked")
    @Nullable
    T get(int number) {
        int i = find(number);
        return (T) values[i];
    }

    /** Keeps a value under a number that is not in the table. */
    void add(int number, T value) {
        if (2 * (size + 1) > numbers.length) {
            int[] oldNumbers = numbers;
            @Nullable Object[] oldValues = values;
            numbers = new int[2 * oldNumbers.length];
            values = new Object[numbers.length];
            for (int i = 0; i < oldNumbers.length; i++) {
                if (oldNumbers[i] != 0) {
                    put(find(oldNumbers[i]), oldNumbers[i], oldValues[i]);
                }
            }
        }
        put(find(number), number, value);
        size++;
    }

    /** Takes a number out, if it is in. */
    void remove(int number) {
        int mask = numbers.length - 1;
        int hole = find(number);
        if (numbers[hole] == 0) {
            return;
        }
        put(hole, 0, null);
        size--;
        // What was pushed past the hole moves back, so that probing never meets a gap before its goal.
        for (int i = (hole + 1) & mask; numbers[i] != 0; i = (i + 1) & mask) {
            int movedNumber = numbers[i];
            Object moved = values[i];
            put(i, 0, null);
            put(find(movedNumber), movedNumber, moved);
        }
    }

    /** Everything in the table, in no order. */
    @SuppressWarnings("unchecked")
    List<T> values() {
        List<T> all = new ArrayList<>(size);
        for (Object value : values) {
            if (value != null) {
                all.add((T) value);
            }
        }
        return all;
    }

    /** The slot of a number, or the free one where it would go. */
    private int find(int number) {
        int mask = numbers.length - 1;
        int i = ((number * 0x9E37_79B1) >>> 8) & mask; // the low bits name the lane: equal for all numbers here
        while (numbers[i] != number && numbers[i] != 0) {
            i = (i + 1) & mask;
        }
        return i;
    }

    private void put(int i, int number, @Nullable Object value) {
        numbers[i] = number;
        values[i] = value;
    }
}

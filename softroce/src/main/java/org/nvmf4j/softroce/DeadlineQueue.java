package org.nvmf4j.softroce;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Timers of one vector: a binary heap of things that have a deadline. An entry is in the heap once at most. Deadlines mostly move
 * away (each acknowledgement puts one off), so a holder leaves an entry where it is then and looks again when it comes up; only an
 * earlier deadline moves it. Times are {@link System#nanoTime}s, compared by difference.
 */
final class DeadlineQueue {
    /** Something with a deadline. */
    abstract static class Entry {
        private long wakeNanos;
        private int position = -1;
    }

    private @Nullable Entry[] heap = new Entry[16];
    private int size;

    boolean isEmpty() {
        return size == 0;
    }

    /** Whether the first entry is due. */
    boolean isDue(long nowNanos) {
        return size > 0 && at(0).wakeNanos - nowNanos <= 0;
    }

    /** Time until the first entry is due, negative if it is over, {@link Long#MAX_VALUE} without entries. */
    long remainingNanos(long nowNanos) {
        return size == 0 ? Long.MAX_VALUE : at(0).wakeNanos - nowNanos;
    }

    /** Makes sure that an entry comes up at {@code deadlineNanos} or earlier. */
    void schedule(Entry entry, long deadlineNanos) {
        if (entry.position < 0) {
            if (size == heap.length) {
                heap = Arrays.copyOf(heap, 2 * size);
            }
            entry.wakeNanos = deadlineNanos;
            up(size++, entry);
        } else if (deadlineNanos - entry.wakeNanos < 0) {
            entry.wakeNanos = deadlineNanos;
            up(entry.position, entry);
        }
    }

    /** Takes the first entry out; the queue must not be empty. */
    Entry removeFirst() {
        Entry first = at(0);
        remove(first);
        return first;
    }

    /** Takes an entry out, if it is in. */
    void remove(Entry entry) {
        int hole = entry.position;
        if (hole < 0) {
            return;
        }
        entry.position = -1;
        Entry last = at(--size);
        heap[size] = null;
        if (last != entry) {
            up(hole, last);
            down(last.position, last);
        }
    }

    private void up(int from, Entry entry) {
        int i = from;
        while (i > 0) {
            Entry parent = at((i - 1) >>> 1);
            if (parent.wakeNanos - entry.wakeNanos <= 0) {
                break;
            }
            put(i, parent);
            i = (i - 1) >>> 1;
        }
        put(i, entry);
    }

    private void down(int from, Entry entry) {
        int i = from;
        for (int child = 2 * i + 1; child < size; child = 2 * i + 1) {
            if (child + 1 < size && at(child + 1).wakeNanos - at(child).wakeNanos < 0) {
                child++;
            }
            Entry below = at(child);
            if (entry.wakeNanos - below.wakeNanos <= 0) {
                break;
            }
            put(i, below);
            i = child;
        }
        put(i, entry);
    }

    private void put(int i, Entry entry) {
        heap[i] = entry;
        entry.position = i;
    }

    private Entry at(int i) {
        Entry entry = heap[i];
        assert entry != null;
        return entry;
    }
}

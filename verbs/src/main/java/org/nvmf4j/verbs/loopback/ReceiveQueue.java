package org.nvmf4j.verbs.loopback;

import org.nvmf4j.verbs.ReceiveWorkRequest;

/** The posted receives of one queue pair, a ring; belongs to the queue pair's lane. */
final class ReceiveQueue {
    private final long[] ids;
    private final ScatterGatherList[] lists;
    private final int mask;
    private final int capacity;
    private int head;
    private int tail;

    ReceiveQueue(int capacity, int maxSge) {
        int size = capacity == 1 ? 1 : Integer.highestOneBit(capacity - 1) << 1;
        this.capacity = capacity;
        this.mask = size - 1;
        this.ids = new long[size];
        this.lists = new ScatterGatherList[size];
        for (int i = 0; i < size; i++) {
            lists[i] = new ScatterGatherList(maxSge);
        }
    }

    int free() {
        return capacity - (tail - head);
    }

    boolean isEmpty() {
        return head == tail;
    }

    void post(ReceiveWorkRequest from) {
        int i = tail++ & mask;
        ids[i] = from.id();
        lists[i].takeReferences(from);
    }

    /** The buffers of the oldest receive. */
    ScatterGatherList first() {
        return lists[head & mask];
    }

    /** Takes the oldest receive out and gives its id. */
    long remove() {
        return ids[head++ & mask];
    }
}

package org.nvmf4j.roce.rc;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;
import org.nvmf4j.verbs.spi.QueuePairChecks;

/** The ring of posted receives; where they are shared, of the one that a message is filling. */
final class ReceiveQueue {
    private final RcContext context;
    private final @Nullable SharedReceiveRing shared;
    private final int capacity;
    private final int mask;
    private final long[] ids;
    private final long[] lengths;
    private final ScatterGather sges;

    /** Counts receives completed and posted; low bits are indexes. */
    private long head;

    private long tail;

    /** A ring of a queue pair's own. */
    ReceiveQueue(RcContext context, int capacity, int maxSge) {
        this(context, null, capacity, maxSge);
    }

    ReceiveQueue(RcContext context, SharedReceiveRing shared) {
        this(context, shared, 1, shared.maxSge());
    }

    private ReceiveQueue(RcContext context, @Nullable SharedReceiveRing shared, int capacity, int maxSge) {
        this.context = context;
        this.shared = shared;
        this.capacity = capacity;
        int slots = SendQueue.slots(capacity);
        mask = slots - 1;
        ids = new long[slots];
        lengths = new long[slots];
        sges = new ScatterGather(slots, maxSge);
    }

    /** Takes a chain whole, or throws and takes nothing of it. */
    void post(ReceiveWorkRequest first) {
        QueuePairChecks.receives(first, sges.maxSge(), capacity - (tail - head));
        for (@Nullable ReceiveWorkRequest request = first; request != null; request = request.next()) {
            int slot = (int) tail & mask;
            ids[slot] = request.id();
            lengths[slot] = lengthOf(request);
            sges.take(slot, request);
            tail++;
        }
    }

    static long lengthOf(ReceiveWorkRequest request) {
        return Math.min(request.lengthBytes(), Integer.MAX_VALUE);
    }

    boolean isShared() {
        return shared != null;
    }

    /** Completes receives that never got into the queue, because the queue pair is in the error state. */
    void flushPost(ReceiveWorkRequest first) {
        for (@Nullable ReceiveWorkRequest request = first; request != null; request = request.next()) {
            context.completions.complete(
                    request.id(), WorkCompletionStatus.WORK_REQUEST_FLUSHED, WorkOpcode.RECEIVE, 0, 0);
        }
    }

    /** Whether there is none for a message that begins. */
    boolean isEmpty() {
        if (head == tail && shared != null && !shared.isEmpty()) {
            int slot = (int) tail & mask;
            ids[slot] = shared.id();
            lengths[slot] = shared.lengthBytes();
            shared.moveTo(sges, slot);
            tail++;
        }
        return head == tail;
    }

    /** Bytes that the oldest receive takes. */
    long lengthBytes() {
        return lengths[(int) head & mask];
    }

    /** Writes to the oldest receive; see {@link ScatterGather#scatter}. */
    boolean write(long offset, MemorySegment source, long sourceOffset, int length) {
        return sges.scatter(context, (int) head & mask, offset, source, sourceOffset, length);
    }

    /** Completes the oldest receive. */
    void complete(WorkCompletionStatus status, int lengthBytes, int invalidatedRkey) {
        long id = ids[(int) head & mask];
        head++;
        context.completions.complete(id, status, WorkOpcode.RECEIVE, lengthBytes, invalidatedRkey);
    }

    void flush() {
        while (head != tail) {
            complete(WorkCompletionStatus.WORK_REQUEST_FLUSHED, 0, 0);
        }
    }

    void clear() {
        head = tail;
    }
}

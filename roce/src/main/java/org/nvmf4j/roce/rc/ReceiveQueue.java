package org.nvmf4j.roce.rc;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;

/** A queue pair's receives; where it shares them, the one that a message of its own is filling. */
final class ReceiveQueue {
    private final RcContext context;
    private final ReceiveRing own;
    private final @Nullable ReceiveRing shared;

    ReceiveQueue(RcContext context, int capacity, int maxSge) {
        this.context = context;
        own = new ReceiveRing(capacity, maxSge);
        shared = null;
    }

    ReceiveQueue(RcContext context, ReceiveRing shared) {
        this.context = context;
        this.shared = shared;
        own = new ReceiveRing(1, shared.maxSge());
    }

    boolean isShared() {
        return shared != null;
    }

    /** Takes a chain whole, or throws and takes nothing of it. */
    void post(ReceiveWorkRequest first) {
        own.post(first);
    }

    /** Completes receives that never got into the queue, because the queue pair is in the error state. */
    void flushPost(ReceiveWorkRequest first) {
        for (@Nullable ReceiveWorkRequest request = first; request != null; request = request.next()) {
            context.completions.complete(
                    request.id(), WorkCompletionStatus.WORK_REQUEST_FLUSHED, WorkOpcode.RECEIVE, 0, 0);
        }
    }

    /** Whether there is a receive for a message that begins; from now on that is the message's. */
    boolean hasNext() {
        if (own.isEmpty() && shared != null && !shared.isEmpty()) {
            own.takeFrom(shared);
        }
        return !own.isEmpty();
    }

    /** Bytes that the oldest receive takes. */
    long lengthBytes() {
        return own.lengthBytes();
    }

    /** Writes to the oldest receive; see {@link ScatterGather#scatter}. */
    boolean write(long offset, MemorySegment source, long sourceOffset, int length) {
        return own.write(context, offset, source, sourceOffset, length);
    }

    /** Completes the oldest receive. */
    void complete(WorkCompletionStatus status, int lengthBytes, int invalidatedRkey) {
        long id = own.id();
        own.remove();
        context.completions.complete(id, status, WorkOpcode.RECEIVE, lengthBytes, invalidatedRkey);
    }

    void flush() {
        while (!own.isEmpty()) {
            complete(WorkCompletionStatus.WORK_REQUEST_FLUSHED, 0, 0);
        }
    }

    void clear() {
        own.clear();
    }
}

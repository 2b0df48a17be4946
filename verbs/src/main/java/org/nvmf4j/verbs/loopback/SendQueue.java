package org.nvmf4j.verbs.loopback;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;
import org.nvmf4j.verbs.spi.MemoryTable;

/**
 * The send queue of one queue pair: a ring of requests between two lanes. The requester, its owner, posts and {@linkplain #publish
 * publishes}; the responder, the peer's lane, executes in order and says how each ended; the requester takes the results.
 *
 * <p>The responder touches the requester's memory, which is the device's from post to completion, and does so only between {@link
 * #enter} and {@link #leave}. {@link #revoke} waits for a copy that is under way and forbids the next, so that a queue pair that is
 * in the error state or closed owns its buffers again.
 */
final class SendQueue {
    private static final VarHandle PUBLISHED;
    private static final VarHandle EXECUTED;
    private static final VarHandle GATE;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            PUBLISHED = lookup.findVarHandle(SendQueue.class, "published", long.class);
            EXECUTED = lookup.findVarHandle(SendQueue.class, "executed", long.class);
            GATE = lookup.findVarHandle(SendQueue.class, "gate", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private static final int OPEN = 0;
    private static final int ENTERED = 1;
    private static final int REVOKED = 2;

    /** One posted request; written by the requester before it is published, its status by the responder before it is executed. */
    static final class Request {
        final ScatterGatherList sges;
        private final int inlineOffset;
        long id;
        WorkOpcode opcode = WorkOpcode.SEND;
        boolean signaled;
        boolean inline;
        /** Whether the data was gone when it was to be copied. */
        boolean vanished;

        long remoteAddress;
        int rkey;
        int invalidateRkey;
        WorkCompletionStatus status = WorkCompletionStatus.SUCCESS;

        Request(int maxSge, int inlineOffset) {
            this.sges = new ScatterGatherList(maxSge);
            this.inlineOffset = inlineOffset;
        }
    }

    private final Request[] requests;
    private final int mask;
    private final int capacity;
    private final MemorySegment inlineMemory;
    private long posted;
    private long completed;
    private long published;
    private long executed;

    @SuppressWarnings("UnusedVariable") // used through GATE
    private int gate;

    SendQueue(int capacity, int maxSge, int inlineBytes) {
        int size = capacity == 1 ? 1 : Integer.highestOneBit(capacity - 1) << 1;
        this.capacity = capacity;
        this.mask = size - 1;
        this.inlineMemory =
                inlineBytes == 0 ? MemorySegment.NULL : Arena.ofAuto().allocate((long) size * inlineBytes, Long.BYTES);
        this.requests = new Request[size];
        for (int i = 0; i < size; i++) {
            requests[i] = new Request(maxSge, i * inlineBytes);
        }
    }

    Request request(long i) {
        return requests[(int) i & mask];
    }

    /** Requests posted so far; like all positions here it only grows. On the requester's lane. */
    long posted() {
        return posted;
    }

    /** Requests that are done with and have left the queue. On the requester's lane. */
    long completed() {
        return completed;
    }

    int free() {
        return capacity - (int) (posted - completed);
    }

    /** Takes a copy of a work request; on the requester's lane. */
    void post(MemoryTable memory, SendWorkRequest from) {
        Request request = request(posted);
        request.id = from.id();
        request.opcode = from.opcode();
        request.signaled = from.signaled();
        request.inline = from.inline();
        request.remoteAddress = from.remoteAddress();
        request.rkey = from.rkey();
        request.invalidateRkey = from.invalidateRkey();
        request.vanished = request.inline && !request.sges.takeInline(memory, from, inlineMemory, request.inlineOffset);
        if (!request.inline) {
            request.sges.takeReferences(from);
        }
        posted++;
    }

    /** Lets the responder have all requests before position {@code end}. */
    void publish(long end) {
        PUBLISHED.setRelease(this, end);
    }

    /** The first position that the responder may not have yet. */
    long published() {
        return (long) PUBLISHED.getAcquire(this);
    }

    /** The first position that the responder has not executed. */
    long executed() {
        return (long) EXECUTED.getAcquire(this);
    }

    /** Takes the oldest request out; on the requester's lane. */
    void complete() {
        completed++;
    }

    /** Whether the responder may touch the requester's memory, until it calls {@link #leave}. */
    boolean enter() {
        return GATE.compareAndSet(this, OPEN, ENTERED);
    }

    /** Ends one request's execution, by the responder. */
    void leave(Request request, WorkCompletionStatus status) {
        request.status = status;
        EXECUTED.setRelease(this, executed + 1);
        GATE.setRelease(this, OPEN);
    }

    /** Forbids the responder to go on, for ever; on the requester's lane, which must not be inside another queue's gate. */
    void revoke() {
        while (!GATE.compareAndSet(this, OPEN, REVOKED) && (int) GATE.getAcquire(this) != REVOKED) {
            Thread.onSpinWait();
        }
    }
}

package org.nvmf4j.verbs;

import org.jspecify.annotations.Nullable;

/**
 * How one work request ended, as {@code struct ibv_wc}. Completion queues hand out one object again and again: it is valid
 * only during {@link CompletionHandler#onCompletion}.
 */
public final class WorkCompletion {
    private long id;
    private WorkCompletionStatus status = WorkCompletionStatus.SUCCESS;
    private WorkOpcode opcode = WorkOpcode.SEND;
    private int lengthBytes;
    private int queuePairNumber;
    private int invalidatedRkey;
    private int vendorError;
    private @Nullable Object context;

    /** Fills in everything; for providers. */
    public void set(
            long id,
            WorkCompletionStatus status,
            WorkOpcode opcode,
            int lengthBytes,
            int queuePairNumber,
            int invalidatedRkey,
            int vendorError,
            @Nullable Object context) {
        this.id = id;
        this.status = status;
        this.opcode = opcode;
        this.lengthBytes = lengthBytes;
        this.queuePairNumber = queuePairNumber;
        this.invalidatedRkey = invalidatedRkey;
        this.vendorError = vendorError;
        this.context = context;
    }

    /** {@link WorkRequest#id} of the request. */
    public long id() {
        return id;
    }

    public WorkCompletionStatus status() {
        return status;
    }

    public boolean isSuccess() {
        return status == WorkCompletionStatus.SUCCESS;
    }

    /** Only meaningful on success, as in libibverbs; providers set it in any case. */
    public WorkOpcode opcode() {
        return opcode;
    }

    /** Bytes received (receive) or transferred (RDMA READ). */
    public int lengthBytes() {
        return lengthBytes;
    }

    public int queuePairNumber() {
        return queuePairNumber;
    }

    /** The local rkey that the received message made invalid, or 0. */
    public int invalidatedRkey() {
        return invalidatedRkey;
    }

    /** The provider's own number for the error, 0 if it has none. */
    public int vendorError() {
        return vendorError;
    }

    /** {@link QueuePairOptions#context} of the queue pair. */
    public @Nullable Object context() {
        return context;
    }
}

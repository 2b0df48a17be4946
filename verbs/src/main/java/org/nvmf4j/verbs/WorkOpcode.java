package org.nvmf4j.verbs;

/** What a work request does, and what a work completion says was done. */
public enum WorkOpcode {
    SEND,
    /** A SEND that also makes one of the receiver's rkeys invalid. */
    SEND_WITH_INVALIDATE,
    RDMA_WRITE,
    RDMA_READ,
    /** Only in completions: a posted receive was consumed. */
    RECEIVE;

    /** Whether the work request's gathered data may be posted inline. */
    public boolean canBeInline() {
        return this == SEND || this == SEND_WITH_INVALIDATE || this == RDMA_WRITE;
    }
}

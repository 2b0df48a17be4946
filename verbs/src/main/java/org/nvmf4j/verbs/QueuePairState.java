package org.nvmf4j.verbs;

/** The states of a queue pair that matter to a user of the connection manager (IBTA 10.3.1). */
public enum QueuePairState {
    /** Receives may be posted; nothing is sent. */
    INIT,
    /** Receives from the peer; sends are queued. */
    READY_TO_RECEIVE,
    /** Sends and receives. */
    READY_TO_SEND,
    /** Every posted work request, old and new, completes with {@link WorkCompletionStatus#WORK_REQUEST_FLUSHED}. */
    ERROR,
    /** Closed; no completion will follow. */
    DESTROYED
}

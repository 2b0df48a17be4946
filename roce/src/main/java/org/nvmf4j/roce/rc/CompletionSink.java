package org.nvmf4j.roce.rc;

import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;

/** Takes the completions of a queue pair's work requests, in order for each of its queues. */
public interface CompletionSink {
    /**
     * One work request ended.
     *
     * @param id of the request
     * @param opcode of the request, {@link WorkOpcode#RECEIVE} for the receive queue
     * @param lengthBytes received or read, 0 otherwise
     * @param invalidatedRkey that a received message made invalid, or 0
     */
    void complete(long id, WorkCompletionStatus status, WorkOpcode opcode, int lengthBytes, int invalidatedRkey);
}

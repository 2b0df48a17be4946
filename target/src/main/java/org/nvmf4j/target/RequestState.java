package org.nvmf4j.target;

/** Where a {@link Request} is on its way from a received command capsule to the posted response. */
enum RequestState {
    /** Its receive is posted: the slot waits for a command. */
    POSTED,
    /** The command is being checked. */
    RECEIVED,
    /** Waits for a data buffer, in the order of arrival on the lane. */
    WAITING_FOR_BUFFER,
    /** Data from the host: waits for its turn, or for RDMA READs under way. */
    READING,
    /** With the command set or a backend. */
    EXECUTING,
    /** An Asynchronous Event Request that waits for an event. */
    HELD,
    /** Ended; the response leaves with the next batch. */
    RESPONDING
}

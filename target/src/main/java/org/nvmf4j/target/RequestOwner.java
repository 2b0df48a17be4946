package org.nvmf4j.target;

/** The queue that a {@link Request} belongs to, as far as the request must know it. */
interface RequestOwner {
    int qid();

    /** The request has its data buffer; on the lane. */
    void buffered(Request request);

    /** A backend's part of the request has ended; on the lane. */
    void resume(Request request);

    /** A backend has ended the request; from any thread. */
    void backendCompleted(Request request);
}

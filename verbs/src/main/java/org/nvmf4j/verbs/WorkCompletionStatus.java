package org.nvmf4j.verbs;

/** How a work request ended, in the words of {@code enum ibv_wc_status}. Every status but {@link #SUCCESS} means that the
 * queue pair is in {@link QueuePairState#ERROR}. */
public enum WorkCompletionStatus {
    SUCCESS("success"),
    /** A message longer than the receive, or a work request longer than the device takes. */
    LOCAL_LENGTH_ERROR("local length error"),
    LOCAL_QP_OPERATION_ERROR("local QP operation error"),
    /** An lkey that is wrong, of another protection domain, out of range or lacks the right. */
    LOCAL_PROTECTION_ERROR("local protection error"),
    /** The queue pair went to the error state before this request was done. */
    WORK_REQUEST_FLUSHED("work request flushed"),
    REMOTE_INVALID_REQUEST("remote invalid request"),
    /** An rkey that is wrong, of another protection domain, out of range or lacks the right. */
    REMOTE_ACCESS_ERROR("remote access error"),
    REMOTE_OPERATION_ERROR("remote operation error"),
    /** The peer did not answer within the transport retries. */
    RETRY_EXCEEDED("transport retry counter exceeded"),
    /** The peer had no receive posted within the RNR retries. */
    RNR_RETRY_EXCEEDED("RNR retry counter exceeded"),
    GENERAL_ERROR("general error");

    private final String words;

    WorkCompletionStatus(String words) {
        this.words = words;
    }

    /** The status in libibverbs' words, for messages. */
    public String words() {
        return words;
    }
}

package org.nvmf4j.verbs;

/**
 * What either side says when it connects or accepts, as {@code struct rdma_conn_param}.
 *
 * @param privateData for the peer's user: up to 56 bytes from the connecting side, 196 from the accepting side; the array is
 *     not copied and must not be changed
 * @param responderResources RDMA READs that this side serves at a time, 0 to 255
 * @param initiatorDepth RDMA READs that this side wants to have outstanding, 0 to 255
 * @param retryCount transport retries, 0 to 7
 * @param rnrRetryCount RNR retries, 0 to 7, where 7 means for ever
 */
@SuppressWarnings("ArrayRecordComponent") // private data is a few bytes, handed through once
public record ConnectionParameters(
        byte[] privateData, int responderResources, int initiatorDepth, int retryCount, int rnrRetryCount) {
    public ConnectionParameters {
        if ((responderResources | initiatorDepth) >>> 8 != 0 || (retryCount | rnrRetryCount) >>> 3 != 0) {
            throw new IllegalArgumentException("connection parameters out of range: responder resources "
                    + responderResources + ", initiator depth " + initiatorDepth + ", retries " + retryCount
                    + ", RNR retries " + rnrRetryCount);
        }
    }
}

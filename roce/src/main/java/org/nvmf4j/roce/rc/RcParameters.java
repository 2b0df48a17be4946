package org.nvmf4j.roce.rc;

import org.nvmf4j.roce.wire.PathMtu;

/**
 * What two ends have agreed on when a queue pair connects.
 *
 * @param remoteQueuePairNumber 24 bits
 * @param sendPsn of the first request packet sent, 24 bits
 * @param receivePsn of the first request packet expected, 24 bits
 * @param pathMtuBytes 256, 512, 1024, 2048 or 4096
 * @param initiatorDepth RDMA READs of ours outstanding at most, 0 to 255
 * @param responderResources RDMA READs of the peer's that are served and remembered, 0 to 255
 * @param retryCount transport retries before the peer is given up, 0 to 7
 * @param rnrRetryCount RNR retries, 0 to 7, where 7 means for ever
 * @param ackTimeoutNanos how long to wait for a sign of life; 0 waits for ever. See {@link #ackTimeoutNanos(int)}
 * @param minRnrTimerCode in our RNR NAKs, 0 to 31 (IBTA table 46; 0 is the longest, 1 the shortest)
 */
public record RcParameters(
        int remoteQueuePairNumber,
        int sendPsn,
        int receivePsn,
        int pathMtuBytes,
        int initiatorDepth,
        int responderResources,
        int retryCount,
        int rnrRetryCount,
        long ackTimeoutNanos,
        int minRnrTimerCode) {
    private static final long ACK_TIMEOUT_UNIT_NANOS = 4096;

    /** 2.4 hours, the longest that the five bits of the connection manager can say. */
    private static final long MAX_ACK_TIMEOUT_NANOS = ACK_TIMEOUT_UNIT_NANOS << 31;

    public RcParameters {
        if ((remoteQueuePairNumber | sendPsn | receivePsn) >>> 24 != 0
                || (initiatorDepth | responderResources) >>> 8 != 0
                || (retryCount | rnrRetryCount) >>> 3 != 0
                || minRnrTimerCode >>> 5 != 0
                || ackTimeoutNanos < 0
                || ackTimeoutNanos > MAX_ACK_TIMEOUT_NANOS
                || !PathMtu.isValidBytes(pathMtuBytes)) {
            throw new IllegalArgumentException("connection parameters out of range: remote QPN " + remoteQueuePairNumber
                    + ", PSNs " + sendPsn + " and " + receivePsn + ", path MTU " + pathMtuBytes + ", initiator depth "
                    + initiatorDepth + ", responder resources " + responderResources + ", retries " + retryCount
                    + ", RNR retries " + rnrRetryCount + ", ACK timeout " + ackTimeoutNanos + " ns, RNR timer code "
                    + minRnrTimerCode);
        }
    }

    /** The ACK timeout of a code from 0 (none) to 31, as connection management carries it: 4.096 µs · 2<sup>code</sup>. */
    public static long ackTimeoutNanos(int code) {
        return code == 0 ? 0 : ACK_TIMEOUT_UNIT_NANOS << (code & 31);
    }
}

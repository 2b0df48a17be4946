package org.nvmf4j.roce.cm;

import java.net.InetAddress;

/**
 * All that a queue pair needs to be moved to READY TO SEND.
 *
 * @param udpSourcePort of the packets that this side sends; the same in both directions
 * @param sendPsn of the first request that this side sends
 * @param receivePsn of the first request that this side receives
 * @param pathMtuBytes 256 to 4096
 * @param initiatorDepth RDMA READs that this side may have outstanding
 * @param responderResources RDMA READs that the peer may have outstanding
 * @param retryCount transport retries
 * @param rnrRetryCount RNR retries, 7 for ever
 * @param ackTimeoutNanos transport timer
 */
public record PathParameters(
        int localQpn,
        int remoteQpn,
        InetAddress remoteAddress,
        int udpSourcePort,
        int sendPsn,
        int receivePsn,
        int pathMtuBytes,
        int initiatorDepth,
        int responderResources,
        int retryCount,
        int rnrRetryCount,
        long ackTimeoutNanos) {}

package org.nvmf4j.roce.rc;

/**
 * What a queue pair may choose for itself, invisible to the peer but for its speed.
 *
 * @param windowPackets unacknowledged request packets at most, 1 to 65,536, and fewer for a while after a loss; one RDMA READ may
 *     overshoot it by its responses
 * @param ackRequestInterval within a long message at least every such packet asks for an acknowledgement, 1 to 65,536; well
 *     below the window, so that the window never closes for lack of one
 * @param ackEveryPackets executed request packets after which an acknowledgement that is owed leaves at once, 1 to 65,536
 * @param ackDelayNanos how long an acknowledgement that is owed may wait for a packet to travel with; 0 sends it at once
 * @param firstTimeoutNanos the retransmission timer's value until a round trip has been measured, at most the connection's ACK
 *     timeout; 0 is the ACK timeout itself. The peer is given up after as long as with the ACK timeout alone
 * @param timeoutMarginNanos by how much the retransmission timer exceeds the usual round trip at least, up to the ACK timeout
 */
public record RcTuning(
        int windowPackets,
        int ackRequestInterval,
        int ackEveryPackets,
        long ackDelayNanos,
        long firstTimeoutNanos,
        long timeoutMarginNanos) {
    /**
     * A window of 256 packets (1 MiB at path MTU 4096), acknowledgements asked for every 64 packets, given every 16 packets or
     * after 30 µs, a first timeout of 20 ms, and a margin of 4 ms.
     */
    public static final RcTuning DEFAULT = new RcTuning(256, 64, 16, 30_000, 20_000_000, 4_000_000);

    private static final int MAX_PACKETS = 1 << 16;

    public RcTuning {
        if (windowPackets < 1
                || windowPackets > MAX_PACKETS
                || ackRequestInterval < 1
                || ackRequestInterval > MAX_PACKETS
                || ackEveryPackets < 1
                || ackEveryPackets > MAX_PACKETS
                || ackDelayNanos < 0
                || firstTimeoutNanos < 0
                || timeoutMarginNanos < 0) {
            throw new IllegalArgumentException("queue pair tuning out of range: window " + windowPackets
                    + ", ACK request interval " + ackRequestInterval + ", ACK every " + ackEveryPackets
                    + " packets or " + ackDelayNanos + " ns, first timeout " + firstTimeoutNanos + " ns, margin "
                    + timeoutMarginNanos + " ns");
        }
    }
}

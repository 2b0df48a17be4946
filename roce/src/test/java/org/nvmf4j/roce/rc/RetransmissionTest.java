package org.nvmf4j.roce.rc;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nvmf4j.testkit.NetworkConditions;
import org.nvmf4j.testkit.Seeds;
import org.nvmf4j.verbs.WorkOpcode;

/** How many packets are sent again when the peer is slow, when it stalls, and when packets are lost. */
class RetransmissionTest {
    private static final int NO_LIMIT = Integer.MAX_VALUE;
    private static final long MILLIS = 1_000_000;

    private static NetworkConditions network(double loss, long delayNanos, long jitterNanos) {
        return new NetworkConditions(loss, 0, 0, 0, delayNanos, jitterNanos, 0);
    }

    @ParameterizedTest
    @EnumSource(names = {"RDMA_WRITE", "RDMA_READ"})
    void sendsNothingTwiceToAPeerThatAnswersLateOnceItKnowsThat(WorkOpcode opcode) {
        Seeds.each(20, seed -> {
            BusyPeer peer = new BusyPeer(seed, network(0, 15 * MILLIS, 3 * MILLIS), NO_LIMIT, 1_000);
            peer.move(opcode, 20);
            long before = peer.statistics.retransmittedPackets();
            assertThat(before).isLessThanOrEqualTo(4);
            peer.move(opcode, 300);
            assertThat(peer.statistics.retransmittedPackets()).isEqualTo(before);
            assertThat(peer.statistics.goBacks()).isZero();
        });
    }

    @ParameterizedTest
    @EnumSource(names = {"RDMA_WRITE", "RDMA_READ"})
    void sendsFewPacketsTwiceToAPeerThatStalls(WorkOpcode opcode) {
        Seeds.each(20, seed -> {
            BusyPeer peer = new BusyPeer(seed, network(0, 10_000, 5_000), NO_LIMIT, 1_000);
            peer.move(opcode, 50);
            assertThat(peer.statistics.retransmittedPackets()).isZero();
            peer.stall(300 * MILLIS);
            peer.move(opcode, 50);
            assertThat(peer.statistics.timeouts()).isBetween(1L, 8L);
            assertThat(peer.statistics.retransmittedPackets()).isLessThanOrEqualTo(2 * peer.statistics.timeouts());
            assertThat(peer.statistics.goBacks()).isZero();
        });
    }

    @ParameterizedTest
    @EnumSource(names = {"RDMA_WRITE", "RDMA_READ"})
    void sendsAFractionTwiceWhenATwentiethIsLost(WorkOpcode opcode) {
        Seeds.each(20, seed -> {
            BusyPeer peer = new BusyPeer(seed, network(0.05, 10_000, 5_000), NO_LIMIT, 1_000);
            peer.move(opcode, 200);
            assertThat(peer.statistics.retransmittedPackets()).isBetween(1L, 200L * BusyPeer.MESSAGE_PACKETS * 6 / 10);
        });
    }

    @Test
    void overflowsAQueueShorterThanItsWindowOnlyNowAndThen() {
        Seeds.each(20, seed -> {
            BusyPeer peer = new BusyPeer(seed, network(0, 10_000, 5_000), 100, 50_000);
            peer.move(WorkOpcode.RDMA_WRITE, 300);
            assertThat(peer.overflows()).isBetween(1L, 300L * BusyPeer.MESSAGE_PACKETS / 2);
            assertThat(peer.statistics.retransmittedPackets()).isLessThan(300L * BusyPeer.MESSAGE_PACKETS / 2);
        });
    }

    @Test
    void findsLostTailsByTheTwoPacketsThatATimeoutCosts() {
        BusyPeer peer = new BusyPeer(1, network(0, 10_000, 0), 3, 1_000);
        peer.move(WorkOpcode.RDMA_WRITE, 1);
        assertThat(peer.statistics.timeouts()).isPositive();
        assertThat(peer.statistics.sequenceNaksReceived()).isPositive();
    }
}

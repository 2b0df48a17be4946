package org.nvmf4j.roce.rc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.nvmf4j.roce.wire.AethSyndrome;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;

/** What is sent again, when, and how often. */
class RequesterRetryTest extends RequesterFixture {
    @Test
    void goesBackToTheMiddleOfAMessage() {
        post(WorkOpcode.SEND, 1, 10);
        post(WorkOpcode.RDMA_WRITE, 2, 4 * MTU);
        post(WorkOpcode.SEND, 3, 10);
        end.transmit();
        nak(3, AethSyndrome.NAK_PSN_SEQUENCE_ERROR);
        List<Packet> packets = end.transmit();
        assertThat(opcodes(packets)).containsExactly(Opcode.RC_WRITE_MIDDLE, Opcode.RC_WRITE_LAST, Opcode.RC_SEND_ONLY);
        assertThat(psns(packets)).containsExactly(3, 4, 5);
        assertThat(completedIds()).as("a NAK acknowledges all before it").containsExactly(1L);
        assertThat(end.queuePair.statistics().retransmittedPackets()).isEqualTo(3);
    }

    @Test
    void goesBackOnceForRepeatedNaksUntilThereIsProgressOrATimeout() {
        post(WorkOpcode.SEND, 1, 4 * MTU);
        end.transmit();
        nak(1, AethSyndrome.NAK_PSN_SEQUENCE_ERROR);
        assertThat(psns(end.transmit())).containsExactly(1, 2, 3);
        nak(1, AethSyndrome.NAK_PSN_SEQUENCE_ERROR);
        assertThat(end.transmit()).isEmpty();
        acknowledge(1);
        nak(2, AethSyndrome.NAK_PSN_SEQUENCE_ERROR);
        assertThat(psns(end.transmit())).containsExactly(2, 3);
        end.pass(1_000_000);
        assertThat(psns(end.transmit())).containsExactly(2, 3);
        nak(2, AethSyndrome.NAK_PSN_SEQUENCE_ERROR);
        assertThat(psns(end.transmit())).containsExactly(2, 3);
    }

    @Test
    void sendsOnlyTheOldestAndTheNewestPacketAgainAfterATimeout() {
        post(WorkOpcode.SEND, 1, 10);
        post(WorkOpcode.RDMA_WRITE, 2, 6 * MTU);
        end.transmit();
        end.pass(1_000_000);
        List<Packet> probes = end.transmit();
        assertThat(psns(probes)).containsExactly(0, 6);
        assertThat(probes).allMatch(Packet::ackRequest);
        acknowledge(0);
        assertThat(end.transmit()).isEmpty();
        nak(1, AethSyndrome.NAK_PSN_SEQUENCE_ERROR);
        assertThat(psns(end.transmit())).containsExactly(1, 2, 3, 4, 5, 6);
        acknowledge(6);
        assertThat(completedIds()).containsExactly(1L, 2L);
        assertThat(end.queuePair.statistics().retransmittedPackets()).isEqualTo(8);
    }

    @Test
    void halvesTheWindowOnALossAndOpensItWithAcknowledgements() {
        post(WorkOpcode.SEND, 1, 30 * MTU);
        end.transmit();
        nak(0, AethSyndrome.NAK_PSN_SEQUENCE_ERROR);
        List<Packet> packets = end.transmit();
        assertThat(psns(packets)).containsExactly(0, 1, 2, 3, 4, 5, 6, 7);
        assertThat(packets.getLast().ackRequest()).as("at the window's edge").isTrue();
        acknowledge(3);
        assertThat(psns(end.transmit())).containsExactly(8, 9, 10, 11, 12);
        acknowledge(12);
        assertThat(end.transmit()).hasSize(10);
    }

    @Test
    void fitsTheTimeoutToTheRoundTripAndKeepsADoubledOneUntilTheNextSample() {
        RcEnd quick = new RcEnd(US, new RcTuning(16, 8, 16, 30_000, 100_000, 50_000));
        connect(quick);
        MemoryRegion source = quick.pattern(10);
        long[] timeouts = {100_000, 30_000 + 4 * 15_000};
        for (int i = 0; i < 2; i++) {
            quick.queuePair.postSend(quick.send(i, WorkOpcode.SEND, source, 0, 10));
            quick.transmit();
            assertThat(quick.queuePair.nextDeadlineNanos() - quick.now).isEqualTo(timeouts[i]);
            quick.pass(30_000);
            quick.receive(Packet.acknowledge(US, psn(i), AethSyndrome.ACK, 0));
        }
        quick.queuePair.postSend(quick.send(2, WorkOpcode.SEND, source, 0, 10));
        quick.transmit();
        assertThat(quick.queuePair.nextDeadlineNanos() - quick.now)
                .as("the margin")
                .isEqualTo(30_000 + 50_000);
        quick.pass(80_000);
        quick.transmit();
        quick.receive(Packet.acknowledge(US, psn(2), AethSyndrome.ACK, 0));
        quick.queuePair.postSend(quick.send(3, WorkOpcode.SEND, source, 0, 10));
        quick.transmit();
        assertThat(quick.queuePair.nextDeadlineNanos() - quick.now)
                .as("nobody knows which of two packets was acknowledged")
                .isEqualTo(160_000);
        quick.pass(30_000);
        quick.receive(Packet.acknowledge(US, psn(3), AethSyndrome.ACK, 0));
        quick.queuePair.postSend(quick.send(4, WorkOpcode.SEND, source, 0, 10));
        quick.transmit();
        assertThat(quick.queuePair.nextDeadlineNanos() - quick.now).isEqualTo(80_000);
    }

    @Test
    void skipsWhatWasAcknowledgedWhileGoingBack() {
        post(WorkOpcode.SEND, 1, 4 * MTU);
        end.transmit();
        nak(0, AethSyndrome.NAK_PSN_SEQUENCE_ERROR);
        acknowledge(2);
        assertThat(psns(end.transmit())).containsExactly(3);
    }

    @Test
    void retriesOnTimeoutAndGivesUpAfterTheRetryCount() {
        post(WorkOpcode.SEND, 1, 10);
        post(WorkOpcode.SEND, 2, 10);
        end.transmit();
        end.postReceive(9, end.region(10), 0, 10);
        assertThat(end.queuePair.nextDeadlineNanos()).isEqualTo(1_000_000);
        for (int retry = 1; retry <= 7; retry++) {
            end.pass(999_999);
            assertThat(end.transmit()).isEmpty();
            end.pass(1);
            assertThat(psns(end.transmit())).containsExactly(0, 1);
        }
        end.pass(1_000_000);
        assertThat(end.takeCompletions())
                .extracting(RcEnd.Completion::id, RcEnd.Completion::status)
                .containsExactly(
                        tuple(1L, WorkCompletionStatus.RETRY_EXCEEDED),
                        tuple(2L, WorkCompletionStatus.WORK_REQUEST_FLUSHED),
                        tuple(9L, WorkCompletionStatus.WORK_REQUEST_FLUSHED));
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.ERROR);
        assertThat(end.transmit()).isEmpty();
    }

    @Test
    void startsTheRetryBudgetAfreshOnProgress() {
        post(WorkOpcode.SEND, 1, 2 * MTU);
        end.transmit();
        for (int i = 0; i < 7; i++) {
            end.pass(1_000_000);
            end.transmit();
        }
        acknowledge(0);
        for (int i = 0; i < 7; i++) {
            end.pass(1_000_000);
            assertThat(psns(end.transmit())).containsExactly(1);
        }
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.READY_TO_SEND);
    }

    @Test
    void doublesAShortFirstTimeoutAndGivesUpNoSoonerThanWithoutIt() {
        RcEnd quick = new RcEnd(US, new RcTuning(16, 8, 16, 30_000, 100_000, 50_000));
        connect(quick);
        quick.queuePair.postSend(quick.send(1, WorkOpcode.SEND, quick.pattern(10), 0, 10));
        quick.transmit();
        long[] timeouts = {100_000, 200_000, 400_000, 800_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000};
        for (long timeout : timeouts) {
            assertThat(quick.queuePair.nextDeadlineNanos() - quick.now).isEqualTo(timeout);
            quick.pass(timeout);
            assertThat(quick.transmit()).hasSize(1);
        }
        quick.pass(1_000_000);
        quick.transmit();
        quick.pass(1_000_000);
        assertThat(quick.now).isEqualTo(8_500_000);
        assertThat(quick.takeCompletions().getFirst().status()).isEqualTo(WorkCompletionStatus.RETRY_EXCEEDED);
    }

    @Test
    void survivesOneLongPauseOfItsOwn() {
        post(WorkOpcode.SEND, 1, 10);
        end.transmit();
        end.pass(100_000_000);
        assertThat(end.transmit()).hasSize(1);
        acknowledge(0);
        assertThat(completedIds()).containsExactly(1L);
    }

    @Test
    void waitsForEverWithoutAnAckTimeout() {
        RcEnd patient = new RcEnd(US, RcTuning.DEFAULT);
        patient.queuePair.connect(new RcParameters(PEER, PSN, 0x100, MTU, 0, 2, 7, 7, 0, 1));
        patient.queuePair.postSend(patient.send(1, WorkOpcode.SEND, patient.pattern(10), 0, 10));
        patient.transmit();
        assertThat(patient.queuePair.nextDeadlineNanos()).isEqualTo(Long.MAX_VALUE);
    }
}

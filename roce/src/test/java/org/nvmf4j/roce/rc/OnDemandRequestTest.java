package org.nvmf4j.roce.rc;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.nvmf4j.roce.wire.AethSyndrome;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;

/** Three messages, of which the second must be sent again when its memory is gone; the peer is a script. */
class OnDemandRequestTest {
    private static final int MTU = 256;
    private static final int US = 0xA;
    private static final int PSN = 0x200;

    private final RcEnd end = new RcEnd(US, RcTuning.DEFAULT);

    OnDemandRequestTest() {
        end.queuePair.connect(new RcParameters(0xB, PSN, 0x100, MTU, 2, 2, 7, 7, 1_000_000, 1));
        MemoryRegion lasting = end.region(MTU);
        MemoryRegion fleeting = end.register(end.arena.allocate(2 * MTU), Set.of(AccessFlag.ON_DEMAND));
        end.queuePair.postSend(end.send(1, WorkOpcode.SEND, lasting, 0, 10));
        end.queuePair.postSend(end.send(2, WorkOpcode.SEND, fleeting, 0, 2 * MTU));
        end.queuePair.postSend(end.send(3, WorkOpcode.SEND, lasting, 0, 10));
        assertThat(transmitted()).containsExactly(0, 1, 2, 3);
        end.sink.vanish();
        answer(0, AethSyndrome.NAK_PSN_SEQUENCE_ERROR);
        assertThat(transmitted()).containsExactly(0);
        assertThat(end.takeCompletions()).isEmpty();
    }

    private void answer(int offset, int syndrome) {
        end.receive(Packet.acknowledge(US, PSN + offset, syndrome, 0));
    }

    private List<Integer> transmitted() {
        return end.transmit().stream().map(packet -> packet.psn() - PSN).toList();
    }

    private List<WorkCompletionStatus> completed() {
        return end.takeCompletions().stream().map(RcEnd.Completion::status).toList();
    }

    @Test
    void failsInItsTurn() {
        answer(0, AethSyndrome.ACK);
        assertThat(completed())
                .containsExactly(
                        WorkCompletionStatus.SUCCESS,
                        WorkCompletionStatus.LOCAL_PROTECTION_ERROR,
                        WorkCompletionStatus.WORK_REQUEST_FLUSHED);
        assertThat(transmitted()).isEmpty();
    }

    @Test
    void isSavedByALateAcknowledgement() {
        answer(2, AethSyndrome.ACK);
        assertThat(transmitted()).containsExactly(3);
        answer(3, AethSyndrome.ACK);
        assertThat(completed()).hasSize(3).containsOnly(WorkCompletionStatus.SUCCESS);
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.READY_TO_SEND);
    }
}

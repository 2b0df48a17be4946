package org.nvmf4j.roce.rc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.nvmf4j.roce.wire.AethSyndrome;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;

/** When a queue pair takes a receive from those it shares, and what becomes of it. */
class SharedReceivesTest {
    private static final int MTU = 256;
    private static final int US = 0xA;
    private static final int PSN = 100;

    private final ReceiveRing ring = new ReceiveRing(3, 4);
    private final RcEnd end = new RcEnd(US, ring);
    private final MemoryRegion memory = end.region(4 * MTU);

    SharedReceivesTest() {
        end.queuePair.connect(new RcParameters(0xB, 0x100, PSN, MTU, 2, 2, 7, 7, 1_000_000, 14));
    }

    private void post(long id) {
        ring.post(RcEnd.receive(id, memory, id * MTU, MTU + 10));
    }

    private void arrives(int opcode, int offset, int length) {
        end.receive(Packet.of(opcode, US, PSN + offset, true, length).payload(RcEnd.bytes(length)));
    }

    @Test
    void aMessageTakesTheOldestWhenItBegins() {
        post(1);
        post(2);
        arrives(Opcode.RC_SEND_FIRST, 0, MTU);
        assertThat(ring.id()).isEqualTo(2);
        arrives(Opcode.RC_SEND_LAST, 1, 5);
        assertThat(end.takeCompletions())
                .containsExactly(new RcEnd.Completion(1, WorkCompletionStatus.SUCCESS, WorkOpcode.RECEIVE, MTU + 5, 0));
        assertThat(RcEnd.read(memory, MTU, MTU)).isEqualTo(RcEnd.bytes(MTU));
        assertThat(ring.id()).isEqualTo(2);
    }

    @Test
    void aMessageWithoutOneIsToComeAgain() {
        arrives(Opcode.RC_SEND_ONLY, 0, 4);
        assertThat(AethSyndrome.words(end.transmit().getFirst().syndrome())).startsWith("RNR NAK");
        post(1);
        arrives(Opcode.RC_SEND_ONLY, 0, 4);
        assertThat(end.takeCompletions()).hasSize(1);
    }

    @Test
    void theErrorStateFlushesTheOneThatIsBeingFilledAlone() {
        post(1);
        post(2);
        arrives(Opcode.RC_SEND_FIRST, 0, MTU);
        end.queuePair.toError();
        assertThat(end.takeCompletions())
                .containsExactly(
                        new RcEnd.Completion(1, WorkCompletionStatus.WORK_REQUEST_FLUSHED, WorkOpcode.RECEIVE, 0, 0));
        assertThat(ring.id()).isEqualTo(2);
    }

    @Test
    void betweenMessagesTheErrorStateFlushesNone() {
        post(1);
        end.queuePair.toError();
        assertThat(end.takeCompletions()).isEmpty();
        assertThat(ring.isEmpty()).isFalse();
    }

    @Test
    void refusesMoreThanItHasRoomForAndOtherWaysIn() {
        post(1);
        post(2);
        post(3);
        assertThatThrownBy(() -> post(4))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("room for 0");
        assertThatThrownBy(() -> end.postReceive(4, memory, 0, 1))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("post them there");
        arrives(Opcode.RC_SEND_ONLY, 0, 4);
        post(4);
        ring.clear();
        assertThat(ring.isEmpty()).isTrue();
    }
}

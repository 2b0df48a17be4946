package org.nvmf4j.roce.rc;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.WorkOpcode;

/** When acknowledgements leave: coalesced, carried along, and when not to wait. */
class AcknowledgementTest {
    private static final int MTU = 256;
    private static final int US = 0xA;
    private static final long DELAY = 30_000;

    private final RcEnd end = new RcEnd(US, new RcTuning(64, 64, 8, DELAY, 0, 0));
    private final MemoryRegion memory = end.pattern(4096);
    private int psn = 0x200;

    AcknowledgementTest() {
        end.queuePair.connect(new RcParameters(0xB, 0x100, psn, MTU, 2, 2, 7, 7, 1_000_000, 14));
    }

    private void write(boolean ackRequest) {
        end.receive(Packet.of(Opcode.RC_WRITE_ONLY, US, psn++, ackRequest, 4).reth(memory.address(), memory.rkey(), 4));
    }

    private List<Integer> transmittedOpcodes() {
        return end.transmit().stream().map(Packet::opcode).toList();
    }

    @Test
    void waitsForTheDelayAndCoalesces() {
        write(true);
        assertThat(end.queuePair.wantsTransmit()).isFalse();
        assertThat(end.queuePair.nextDeadlineNanos()).isEqualTo(DELAY);
        end.pass(10_000);
        write(true);
        write(true);
        assertThat(end.transmit()).isEmpty();
        end.pass(20_000);
        assertThat(end.queuePair.wantsTransmit()).isTrue();
        List<Packet> packets = end.transmit();
        assertThat(packets).hasSize(1);
        assertThat(packets.getFirst().psn()).isEqualTo(0x202);
        assertThat(packets.getFirst().msn()).isEqualTo(3);
        assertThat(end.queuePair.nextDeadlineNanos()).isEqualTo(Long.MAX_VALUE);
        assertThat(end.queuePair.statistics().acksSent()).isEqualTo(1);
    }

    @Test
    void travelsBehindTheNextRequest() {
        write(true);
        end.queuePair.postSend(end.send(1, WorkOpcode.SEND, memory, 0, 300));
        assertThat(transmittedOpcodes())
                .containsExactly(Opcode.RC_SEND_FIRST, Opcode.RC_SEND_LAST, Opcode.RC_ACKNOWLEDGE);
        assertThat(end.queuePair.statistics().packetsSent()).isEqualTo(3);
    }

    @Test
    void leavesWhenEnoughPacketsWait() {
        for (int i = 0; i < 7; i++) {
            write(true);
        }
        assertThat(end.transmit()).isEmpty();
        write(false);
        assertThat(end.queuePair.wantsTransmit()).isTrue();
        assertThat(end.transmit()).hasSize(1);
    }

    @Test
    void isNotOwedBeforeItIsAskedFor() {
        for (int i = 0; i < 20; i++) {
            write(false);
        }
        end.pass(DELAY);
        assertThat(end.transmit()).isEmpty();
        assertThat(end.queuePair.nextDeadlineNanos()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void leavesAtOnceWhenAskedForWithinAMessage() {
        end.receive(
                Packet.of(Opcode.RC_WRITE_FIRST, US, psn++, false, MTU).reth(memory.address(), memory.rkey(), 3 * MTU));
        assertThat(end.transmit()).isEmpty();
        end.receive(Packet.of(Opcode.RC_WRITE_MIDDLE, US, psn++, true, MTU));
        assertThat(end.queuePair.wantsTransmit()).isTrue();
        List<Packet> packets = end.transmit();
        assertThat(packets).hasSize(1);
        assertThat(packets.getFirst().psn()).isEqualTo(0x201);
        assertThat(packets.getFirst().msn()).isZero();
    }

    @Test
    void leavesAtOnceWithoutADelay() {
        RcEnd eager = new RcEnd(US, new RcTuning(64, 64, 8, 0, 0, 0));
        eager.queuePair.connect(new RcParameters(0xB, 0x100, 0x200, MTU, 2, 2, 7, 7, 1_000_000, 14));
        eager.receive(Packet.of(Opcode.RC_WRITE_ONLY, US, 0x200, true, 0).reth(0, 0, 0));
        assertThat(eager.queuePair.wantsTransmit()).isTrue();
        assertThat(eager.transmit()).hasSize(1);
    }

    @Test
    void stillLeavesAfterTheQueuePairWasMovedToError() {
        write(true);
        end.queuePair.toError();
        assertThat(end.queuePair.wantsTransmit()).isTrue();
        assertThat(transmittedOpcodes()).containsExactly(Opcode.RC_ACKNOWLEDGE);
        assertThat(end.queuePair.wantsTransmit()).isFalse();
        write(true);
        assertThat(end.transmit()).isEmpty();
    }

    @Test
    void doesNotLeaveAfterDestruction() {
        write(true);
        end.queuePair.destroy();
        assertThat(end.queuePair.wantsTransmit()).isFalse();
        assertThat(end.transmit()).isEmpty();
    }

    @Test
    void isNotStarvedByRequestsThatFillEveryBatch() {
        end.queuePair.postSend(end.send(1, WorkOpcode.RDMA_WRITE, memory, 0, 4096));
        write(true);
        end.sink.room(4);
        end.queuePair.pollTransmit(end.sink, 0);
        end.sink.clear();
        end.queuePair.pollTransmit(end.sink, 0);
        assertThat(new Packet(end.sink.packet(0)).opcode()).isEqualTo(Opcode.RC_ACKNOWLEDGE);
        end.sink.clear();
    }

    @Test
    void readsAndRequestsTakeTurnsWhereBatchesAreSmall() {
        end.receive(Packet.of(Opcode.RC_READ_REQUEST, US, psn, true, 0).reth(memory.address(), memory.rkey(), 4096));
        end.queuePair.postSend(end.send(1, WorkOpcode.RDMA_WRITE, memory, 0, 4096));
        end.sink.room(4);
        int responses = 0;
        for (int pass = 0; pass < 4; pass++) {
            end.queuePair.pollTransmit(end.sink, 0);
            for (int i = 0; i < end.sink.count(); i++) {
                int flags = Opcode.flags(new Packet(end.sink.packet(i)).opcode());
                responses += (flags & Opcode.READ_RESPONSE) != 0 ? 1 : 0;
            }
            end.sink.clear();
        }
        assertThat(responses).isEqualTo(8);
    }
}

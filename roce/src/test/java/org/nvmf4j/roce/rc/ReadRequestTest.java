package org.nvmf4j.roce.rc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nvmf4j.roce.wire.Aeth;
import org.nvmf4j.roce.wire.AethSyndrome;
import org.nvmf4j.roce.wire.Bth;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.testkit.GuardedMemory;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;

/** RDMA READ as the requester sees it; the peer is a script. */
class ReadRequestTest {
    private static final int MTU = 256;
    private static final int US = 0xA;
    private static final int PSN = 0xFF_FFFD;

    private final RcEnd end = new RcEnd(US, new RcTuning(64, 64, 16, 30_000, 0, 1_000_000));
    private final GuardedMemory guarded = new GuardedMemory(end.arena, 4 * MTU);
    private final MemoryRegion memory = end.register(guarded.segment(), RcEnd.ALL_RIGHTS);

    ReadRequestTest() {
        end.queuePair.connect(new RcParameters(0xB, PSN, 0x100, MTU, 2, 2, 7, 7, 1_000_000, 1));
    }

    private void postRead(long id, int length) {
        SendWorkRequest request = end.send(id, WorkOpcode.RDMA_READ, memory, 0, length);
        request.remote(0x1000, 0x77);
        end.queuePair.postSend(request);
    }

    private void postSend(long id) {
        end.queuePair.postSend(end.send(id, WorkOpcode.SEND, memory, 0, 4));
    }

    private static int psn(int offset) {
        return PSN + offset & 0xFF_FFFF;
    }

    private void respond(int offset, int opcode, int from, int length) {
        byte[] data = Arrays.copyOfRange(RcEnd.bytes(8192), from, from + length);
        end.receive(Packet.response(opcode, US, psn(offset), data));
    }

    private void acknowledge(int offset, int syndrome) {
        end.receive(Packet.acknowledge(US, psn(offset), syndrome, 0));
    }

    private List<String> transmitted() {
        return end.transmit().stream()
                .map(p -> (p.opcode() == Opcode.RC_READ_REQUEST
                                ? "READ " + p.dmaLength() + " at " + p.address()
                                : "other")
                        + " psn " + (p.psn() - PSN & 0xFF_FFFF))
                .toList();
    }

    private List<Long> completedIds() {
        return end.takeCompletions().stream().map(RcEnd.Completion::id).toList();
    }

    @Test
    void takesThePsnsOfItsResponses() {
        postRead(1, 2 * MTU + 1);
        postSend(2);
        assertThat(transmitted()).containsExactly("READ 513 at 4096 psn 0", "other psn 3");
        respond(0, Opcode.RC_READ_RESPONSE_FIRST, 0, MTU);
        respond(1, Opcode.RC_READ_RESPONSE_MIDDLE, MTU, MTU);
        assertThat(end.takeCompletions()).isEmpty();
        respond(2, Opcode.RC_READ_RESPONSE_LAST, 2 * MTU, 1);
        assertThat(end.takeCompletions())
                .containsExactly(new RcEnd.Completion(1, WorkCompletionStatus.SUCCESS, WorkOpcode.RDMA_READ, 513, 0));
        assertThat(RcEnd.read(memory, 0, 513)).isEqualTo(RcEnd.bytes(513));
        assertThat(RcEnd.read(memory, 513, 511)).containsOnly(0);
        guarded.check();
        acknowledge(3, AethSyndrome.ACK);
        assertThat(completedIds()).containsExactly(2L);
    }

    @Test
    void keepsToTheInitiatorDepthAndHoldsBackWhatComesBehind() {
        postRead(1, MTU);
        postRead(2, MTU);
        postRead(3, MTU);
        postSend(4);
        assertThat(transmitted()).hasSize(2);
        assertThat(end.queuePair.wantsTransmit()).isFalse();
        respond(0, Opcode.RC_READ_RESPONSE_ONLY, 0, MTU);
        assertThat(transmitted()).containsExactly("READ 256 at 4096 psn 2", "other psn 3");
    }

    @ParameterizedTest
    @ValueSource(
            ints = {
                Opcode.RC_READ_RESPONSE_FIRST,
                Opcode.RC_READ_RESPONSE_MIDDLE,
                Opcode.RC_READ_RESPONSE_LAST,
                Opcode.RC_READ_RESPONSE_ONLY
            })
    void takesResponsesByTheirPsnWhateverTheyCallThemselves(int opcode) {
        postRead(1, 2 * MTU);
        transmitted();
        respond(0, opcode, 0, MTU);
        respond(1, opcode, MTU, MTU);
        assertThat(completedIds()).containsExactly(1L);
        assertThat(RcEnd.read(memory, 0, 2 * MTU)).isEqualTo(RcEnd.bytes(2 * MTU));
    }

    @Test
    void asksAgainOnlyForWhatIsMissing() {
        postRead(1, 4 * MTU);
        transmitted();
        respond(0, Opcode.RC_READ_RESPONSE_FIRST, 0, MTU);
        respond(1, Opcode.RC_READ_RESPONSE_MIDDLE, MTU, MTU);
        end.pass(1_000_000);
        assertThat(transmitted()).containsExactly("READ 512 at 4608 psn 2");
        respond(0, Opcode.RC_READ_RESPONSE_FIRST, 3, MTU); // a stray: must not be written again
        assertThat(RcEnd.read(memory, 0, MTU)).isEqualTo(RcEnd.bytes(MTU));
        respond(2, Opcode.RC_READ_RESPONSE_FIRST, 2 * MTU, MTU);
        end.pass(1_000_000);
        assertThat(transmitted()).containsExactly("READ 256 at 4864 psn 3");
        respond(3, Opcode.RC_READ_RESPONSE_ONLY, 3 * MTU, MTU);
        assertThat(completedIds()).containsExactly(1L);
        assertThat(RcEnd.read(memory, 0, 4 * MTU)).isEqualTo(RcEnd.bytes(4 * MTU));
    }

    @Test
    void asksAgainForTheOldestReadAndTheEndOfTheNewestAfterATimeout() {
        postRead(1, 2 * MTU);
        postRead(2, 2 * MTU + 1);
        transmitted();
        end.pass(1_000_000);
        assertThat(transmitted()).containsExactly("READ 512 at 4096 psn 0", "READ 1 at 4608 psn 4");
        respond(0, Opcode.RC_READ_RESPONSE_FIRST, 0, MTU);
        respond(1, Opcode.RC_READ_RESPONSE_LAST, MTU, MTU);
        acknowledge(2, AethSyndrome.NAK_PSN_SEQUENCE_ERROR);
        assertThat(transmitted()).containsExactly("READ 513 at 4096 psn 2");
    }

    @Test
    void takesAnAcknowledgementBehindAReadForTheLossOfItsResponses() {
        postSend(1);
        postRead(2, 2 * MTU);
        postSend(3);
        transmitted();
        acknowledge(3, AethSyndrome.ACK);
        assertThat(completedIds()).containsExactly(1L);
        assertThat(transmitted()).containsExactly("READ 512 at 4096 psn 1", "other psn 3");
        acknowledge(3, AethSyndrome.ACK);
        assertThat(transmitted()).as("nothing new").isEmpty();
        respond(1, Opcode.RC_READ_RESPONSE_FIRST, 0, MTU);
        respond(2, Opcode.RC_READ_RESPONSE_LAST, MTU, MTU);
        acknowledge(3, AethSyndrome.ACK);
        assertThat(completedIds()).containsExactly(2L, 3L);
    }

    @Test
    void goesBackAtOnceWhenAResponseIsSkipped() {
        postRead(1, 3 * MTU);
        transmitted();
        respond(0, Opcode.RC_READ_RESPONSE_FIRST, 0, MTU);
        respond(2, Opcode.RC_READ_RESPONSE_LAST, 2 * MTU, MTU);
        assertThat(transmitted()).containsExactly("READ 512 at 4352 psn 1");
        assertThat(RcEnd.read(memory, MTU, 2 * MTU)).containsOnly(0);
    }

    @Test
    void takesAResponseAsAcknowledgementOfWhatCameBefore() {
        postSend(1);
        postRead(2, MTU);
        transmitted();
        respond(1, Opcode.RC_READ_RESPONSE_ONLY, 0, MTU);
        assertThat(completedIds()).containsExactly(1L, 2L);
    }

    @Test
    void dropsResponsesThatDoNotFit() {
        postSend(1);
        postRead(2, MTU + 10);
        transmitted();
        respond(0, Opcode.RC_READ_RESPONSE_ONLY, 0, 4); // to a SEND
        respond(1, Opcode.RC_READ_RESPONSE_FIRST, 0, MTU - 4);
        respond(1, Opcode.RC_READ_RESPONSE_FIRST, 0, MTU + 4);
        respond(2, Opcode.RC_READ_RESPONSE_LAST, 0, 11);
        respond(3, Opcode.RC_READ_RESPONSE_LAST, 0, 10); // never asked for
        Packet nak = Packet.response(Opcode.RC_READ_RESPONSE_FIRST, US, psn(1), new byte[MTU]);
        Aeth.write(nak.memory(), Bth.LENGTH, AethSyndrome.NAK_REMOTE_ACCESS_ERROR, 0);
        end.receive(nak);
        assertThat(end.queuePair.statistics().badPackets()).isEqualTo(6);
        assertThat(end.takeCompletions()).isEmpty();
        assertThat(RcEnd.read(memory, 0, 4 * MTU)).containsOnly(0);
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.READY_TO_SEND);
        assertThat(end.transmit()).isEmpty();
    }

    @Test
    void failsWhenItsMemoryIsTakenAwayMeanwhile() {
        postRead(1, 2 * MTU);
        transmitted();
        respond(0, Opcode.RC_READ_RESPONSE_FIRST, 0, MTU);
        memory.close();
        respond(1, Opcode.RC_READ_RESPONSE_LAST, MTU, MTU);
        assertThat(end.takeCompletions().getFirst().status()).isEqualTo(WorkCompletionStatus.LOCAL_PROTECTION_ERROR);
        assertThat(guarded.segment().asSlice(MTU).toArray(ValueLayout.JAVA_BYTE))
                .containsOnly(0);
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.ERROR);
    }

    @Test
    void failsOnANakInTheMidstOfItsResponses() {
        postRead(1, 3 * MTU);
        postSend(2);
        transmitted();
        respond(0, Opcode.RC_READ_RESPONSE_FIRST, 0, MTU);
        acknowledge(1, AethSyndrome.NAK_REMOTE_ACCESS_ERROR);
        assertThat(end.takeCompletions())
                .extracting(RcEnd.Completion::status)
                .containsExactly(WorkCompletionStatus.REMOTE_ACCESS_ERROR, WorkCompletionStatus.WORK_REQUEST_FLUSHED);
    }

    @Test
    void namesTheRequestAtFaultAlsoBehindAReadThatNeverEnded() {
        postRead(1, MTU);
        postSend(2);
        postSend(3);
        transmitted();
        acknowledge(2, AethSyndrome.NAK_INVALID_REQUEST);
        assertThat(end.takeCompletions())
                .extracting(RcEnd.Completion::id, RcEnd.Completion::status)
                .containsExactly(
                        tuple(1L, WorkCompletionStatus.WORK_REQUEST_FLUSHED),
                        tuple(2L, WorkCompletionStatus.WORK_REQUEST_FLUSHED),
                        tuple(3L, WorkCompletionStatus.REMOTE_INVALID_REQUEST));
    }

    @Test
    void writesNothingAfterTheQueuePairFailed() {
        postRead(1, MTU);
        transmitted();
        end.queuePair.toError();
        respond(0, Opcode.RC_READ_RESPONSE_ONLY, 0, MTU);
        assertThat(RcEnd.read(memory, 0, MTU)).containsOnly(0);
        assertThat(end.takeCompletions()).hasSize(1);
    }
}

package org.nvmf4j.roce.rc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.tuple;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nvmf4j.roce.wire.AethSyndrome;
import org.nvmf4j.roce.wire.Bth;
import org.nvmf4j.roce.wire.Ieth;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;

/** What is sent for work requests, and what acknowledgements do to them. */
class RequesterTest extends RequesterFixture {
    @Test
    void cutsASendAtThePathMtu() {
        post(WorkOpcode.SEND, 1, 2 * MTU + 5);
        List<Packet> packets = end.transmit();
        assertThat(opcodes(packets)).containsExactly(Opcode.RC_SEND_FIRST, Opcode.RC_SEND_MIDDLE, Opcode.RC_SEND_LAST);
        assertThat(packets).extracting(Packet::psn).containsExactly(0xFF_FFFE, 0xFF_FFFF, 0);
        assertThat(packets).extracting(Packet::ackRequest).containsExactly(false, false, true);
        assertThat(packets).allSatisfy(p -> {
            assertThat(Bth.destinationQpn(p.memory(), 0)).isEqualTo(PEER);
            assertThat(Bth.migrationRequest(p.memory(), 0)).isTrue();
            assertThat(Bth.pKey(p.memory(), 0)).isEqualTo(0xFFFF);
        });
        assertThat(packets.get(2).bytes()).hasSize(12 + 8).endsWith(0, 0, 0);
        assertThat(packets.get(1).payload()).isEqualTo(Arrays.copyOfRange(RcEnd.bytes(1000), MTU, 2 * MTU));
    }

    @Test
    void namesTheRemoteMemoryInTheFirstPacketOfAWrite() {
        post(WorkOpcode.RDMA_WRITE, 1, 3 * MTU);
        post(WorkOpcode.RDMA_WRITE, 2, MTU);
        List<Packet> packets = end.transmit();
        assertThat(opcodes(packets))
                .containsExactly(
                        Opcode.RC_WRITE_FIRST, Opcode.RC_WRITE_MIDDLE, Opcode.RC_WRITE_LAST, Opcode.RC_WRITE_ONLY);
        Packet first = packets.getFirst();
        assertThat(first.address()).isEqualTo(0x1000);
        assertThat(first.rkey()).isEqualTo(0x77);
        assertThat(first.dmaLength()).isEqualTo(3 * MTU);
        assertThat(packets.get(2).payload()).hasSize(MTU);
    }

    @ParameterizedTest
    @CsvSource({"100, 0x17", "300, 0x16"})
    void carriesTheKeyToInvalidateInTheLastPacket(int length, String opcode) {
        SendWorkRequest request = end.send(1, WorkOpcode.SEND_WITH_INVALIDATE, memory, 0, length);
        request.invalidateRkey(0xCAFE);
        end.queuePair.postSend(request);
        Packet last = end.transmit().getLast();
        assertThat(last.opcode()).isEqualTo(Integer.decode(opcode));
        assertThat(Ieth.rKey(last.memory(), Bth.LENGTH)).isEqualTo(0xCAFE);
    }

    @Test
    void sendsEmptyMessages() {
        post(WorkOpcode.SEND, 1, 0);
        post(WorkOpcode.RDMA_WRITE, 2, 0);
        post(WorkOpcode.RDMA_READ, 3, 0);
        List<Packet> packets = end.transmit();
        assertThat(opcodes(packets)).containsExactly(Opcode.RC_SEND_ONLY, Opcode.RC_WRITE_ONLY, Opcode.RC_READ_REQUEST);
        assertThat(packets).allSatisfy(packet -> assertThat(packet.payload()).isEmpty());
        assertThat(psns(packets)).containsExactly(0, 1, 2);
        respond(2, Opcode.RC_READ_RESPONSE_ONLY, 0, 0);
        assertThat(completedIds()).containsExactly(1L, 2L, 3L);
    }

    @Test
    void gathersScatteredPiecesAndSkipsEmptyOnes() {
        SendWorkRequest request = new SendWorkRequest(4);
        request.addSge(memory.segment(), 500, 200, memory.lkey());
        request.addSge(memory.segment(), 0, 0, 0); // an empty element needs no key
        request.addSge(memory.segment(), 10, 100, memory.lkey());
        request.addSge(memory.segment(), 1000, 3, memory.lkey());
        end.queuePair.postSend(request);
        List<Packet> packets = end.transmit();
        byte[] pattern = RcEnd.bytes(2000);
        byte[] message = new byte[303];
        System.arraycopy(pattern, 500, message, 0, 200);
        System.arraycopy(pattern, 10, message, 200, 100);
        System.arraycopy(pattern, 1000, message, 300, 3);
        assertThat(packets.get(0).payload()).isEqualTo(Arrays.copyOf(message, MTU));
        assertThat(packets.get(1).payload()).isEqualTo(Arrays.copyOfRange(message, MTU, 303));
    }

    @Test
    void copiesInlineDataAtPostAndNeverLooksAtItsSourceAgain() {
        MemorySegment heap = MemorySegment.ofArray(new byte[] {1, 2, 3, 4});
        SendWorkRequest request = new SendWorkRequest(2);
        request.addSge(heap, 2, 2, 0);
        request.addSge(heap, 0, 1, 0);
        InlineMark.set(request, true);
        end.queuePair.postSend(request);
        heap.fill((byte) 9);
        request.clearSges();
        assertThat(end.transmit().getFirst().payload()).containsExactly(3, 4, 1);
        nak(0, AethSyndrome.NAK_PSN_SEQUENCE_ERROR);
        assertThat(end.transmit().getFirst().payload()).containsExactly(3, 4, 1);
    }

    @Test
    void readsMemoryByReferenceWhenAPacketLeaves() {
        post(WorkOpcode.SEND, 1, 4);
        memory.segment().fill((byte) 7);
        assertThat(end.transmit().getFirst().payload()).containsExactly(7, 7, 7, 7);
    }

    @Test
    void asksForAcknowledgementsWithinLongMessagesAndStopsAtTheWindow() {
        post(WorkOpcode.SEND, 1, 20 * MTU);
        List<Packet> packets = end.transmit();
        assertThat(packets).hasSize(16);
        assertThat(psns(packets.stream().filter(Packet::ackRequest).toList())).containsExactly(7, 15);
        assertThat(end.queuePair.wantsTransmit()).isFalse();
        acknowledge(1);
        packets = end.transmit();
        assertThat(psns(packets)).containsExactly(16, 17);
        assertThat(packets.getLast().ackRequest()).as("at the window's edge").isTrue();
        acknowledge(17);
        packets = end.transmit();
        assertThat(psns(packets)).containsExactly(18, 19);
        acknowledge(19);
        assertThat(completedIds()).containsExactly(1L);
    }

    @Test
    void emitsAsMuchAsTheSinkTakesAndGoesOnLater() {
        post(WorkOpcode.SEND, 1, 4 * MTU);
        end.sink.room(3);
        assertThat(end.queuePair.pollTransmit(end.sink, 0)).isTrue();
        assertThat(end.sink.count()).isEqualTo(3);
        end.sink.clear();
        assertThat(end.queuePair.pollTransmit(end.sink, 0)).isFalse();
        assertThat(end.sink.count()).isEqualTo(1);
    }

    @Test
    void completesWhatAnAcknowledgementCoversInPostOrder() {
        post(WorkOpcode.SEND, 1, 10);
        post(WorkOpcode.RDMA_WRITE, 2, 10);
        post(WorkOpcode.SEND, 3, 2 * MTU);
        end.transmit();
        acknowledge(2);
        assertThat(completedIds()).containsExactly(1L, 2L);
        acknowledge(3);
        assertThat(completedIds()).containsExactly(3L);
        assertThat(end.queuePair.nextDeadlineNanos()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void leavesOutTheCompletionsThatNobodyAskedFor() {
        SendWorkRequest silent = end.send(1, WorkOpcode.SEND, memory, 0, 10);
        silent.signaled(false);
        SendWorkRequest loud = end.send(2, WorkOpcode.SEND, memory, 0, 10);
        silent.next(loud);
        end.queuePair.postSend(silent);
        end.transmit();
        acknowledge(1);
        assertThat(completedIds()).containsExactly(2L);
    }

    @Test
    void ignoresStaleAcknowledgementsAndThoseForPacketsNeverSent() {
        post(WorkOpcode.SEND, 1, 10);
        post(WorkOpcode.SEND, 2, 10);
        end.transmit();
        acknowledge(2);
        acknowledge(500);
        acknowledge(-1);
        nak(-3, AethSyndrome.NAK_REMOTE_ACCESS_ERROR);
        nak(2, AethSyndrome.NAK_REMOTE_ACCESS_ERROR);
        assertThat(end.takeCompletions()).isEmpty();
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.READY_TO_SEND);
        acknowledge(1);
        acknowledge(0);
        assertThat(completedIds()).containsExactly(1L, 2L);
        assertThat(end.queuePair.statistics().staleResponses()).isEqualTo(3);
        assertThat(end.queuePair.statistics().badPackets()).isEqualTo(3);
    }

    @ParameterizedTest
    @ValueSource(ints = {0x00, 0x05, 0x1E})
    void ignoresCredits(int syndrome) {
        post(WorkOpcode.SEND, 1, 10);
        end.transmit();
        nak(0, syndrome);
        post(WorkOpcode.SEND, 2, 10);
        assertThat(end.transmit()).hasSize(1);
        assertThat(completedIds()).containsExactly(1L);
    }

    @ParameterizedTest
    @ValueSource(ints = {0x40, 0x5F, 0x65, 0x7F, 0x80, 0xFF})
    void ignoresReservedSyndromes(int syndrome) {
        post(WorkOpcode.SEND, 1, 10);
        end.transmit();
        nak(0, syndrome);
        assertThat(end.takeCompletions()).isEmpty();
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.READY_TO_SEND);
        assertThat(end.queuePair.statistics().badPackets()).isEqualTo(1);
    }

    @Test
    void waitsWhileThePeerHasNoReceive() {
        post(WorkOpcode.RDMA_WRITE, 1, 10);
        post(WorkOpcode.SEND, 2, 10);
        end.transmit();
        nak(1, AethSyndrome.rnrNak(12)); // 0.64 ms
        assertThat(completedIds()).containsExactly(1L);
        nak(1, AethSyndrome.rnrNak(12)); // repeated by the network
        post(WorkOpcode.SEND, 3, 10);
        end.pass(639_999);
        assertThat(end.transmit()).isEmpty();
        end.pass(1);
        assertThat(psns(end.transmit())).containsExactly(1, 2);
        acknowledge(2);
        assertThat(completedIds()).containsExactly(2L, 3L);
        assertThat(end.queuePair.nextDeadlineNanos()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void retriesForEverWhereTheRnrRetryCountIsSeven() {
        post(WorkOpcode.SEND, 1, 10);
        for (int i = 0; i < 100; i++) {
            assertThat(end.transmit()).hasSize(1);
            nak(0, AethSyndrome.rnrNak(1));
            end.pass(10_000);
        }
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.READY_TO_SEND);
    }

    @Test
    void givesUpAfterTheRnrRetryCount() {
        RcEnd other = new RcEnd(US, RcTuning.DEFAULT);
        other.queuePair.connect(new RcParameters(PEER, PSN, 0x100, MTU, 2, 2, 7, 2, 1_000_000, 1));
        other.queuePair.postSend(other.send(1, WorkOpcode.SEND, other.pattern(10), 0, 10));
        for (int i = 0; i < 3; i++) {
            assertThat(other.transmit()).hasSize(1);
            other.receive(Packet.acknowledge(US, PSN, AethSyndrome.rnrNak(1), 0));
            other.pass(10_000);
        }
        assertThat(other.takeCompletions())
                .containsExactly(
                        new RcEnd.Completion(1, WorkCompletionStatus.RNR_RETRY_EXCEEDED, WorkOpcode.SEND, 0, 0));
        assertThat(other.queuePair.state()).isEqualTo(QueuePairState.ERROR);
    }

    @ParameterizedTest
    @CsvSource({
        "0x61, REMOTE_INVALID_REQUEST",
        "0x62, REMOTE_ACCESS_ERROR",
        "0x63, REMOTE_OPERATION_ERROR",
        "0x64, REMOTE_OPERATION_ERROR"
    })
    void failsTheRequestThatAFatalNakNames(String syndrome, WorkCompletionStatus status) {
        for (int id = 1; id <= 4; id++) {
            SendWorkRequest request = end.send(id, WorkOpcode.RDMA_WRITE, memory, 0, 2 * MTU);
            request.signaled(id % 2 == 0);
            end.queuePair.postSend(request);
        }
        end.transmit();
        nak(5, Integer.decode(syndrome));
        assertThat(end.takeCompletions())
                .extracting(RcEnd.Completion::id, RcEnd.Completion::status)
                .containsExactly(
                        tuple(2L, WorkCompletionStatus.SUCCESS),
                        tuple(3L, status),
                        tuple(4L, WorkCompletionStatus.WORK_REQUEST_FLUSHED));
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.ERROR);
        assertThat(end.transmit()).isEmpty();
    }

    @Test
    void failsARequestWithABadKeyOnlyAfterThoseBeforeIt() throws Exception {
        post(WorkOpcode.SEND, 1, 10);
        SendWorkRequest bad = new SendWorkRequest(1);
        bad.id(2);
        bad.addSge(memory.segment(), 0, 10, memory.lkey() ^ 1);
        end.queuePair.postSend(bad);
        post(WorkOpcode.SEND, 3, 10);
        assertThat(end.transmit()).hasSize(1);
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.READY_TO_SEND);
        acknowledge(0);
        assertThat(end.takeCompletions())
                .extracting(RcEnd.Completion::status)
                .containsExactly(
                        WorkCompletionStatus.SUCCESS,
                        WorkCompletionStatus.LOCAL_PROTECTION_ERROR,
                        WorkCompletionStatus.WORK_REQUEST_FLUSHED);
        assertThat(end.transmit()).isEmpty();
    }

    @Test
    void checksKeysAgainForARetransmission() {
        post(WorkOpcode.SEND, 1, 10);
        end.transmit();
        memory.close();
        end.pass(1_000_000);
        assertThat(end.transmit()).isEmpty();
        assertThat(end.takeCompletions().getFirst().status()).isEqualTo(WorkCompletionStatus.LOCAL_PROTECTION_ERROR);
    }

    @Test
    @Timeout(60)
    void completesWhatArrivedAlthoughItCouldNotBeSentAgain() {
        MemoryRegion other = end.pattern(10);
        end.queuePair.postSend(end.send(1, WorkOpcode.SEND, other, 0, 10));
        post(WorkOpcode.SEND, 2, 10);
        end.transmit();
        memory.close();
        end.pass(1_000_000);
        assertThat(psns(end.transmit()))
                .as("the second waits for the first, then fails")
                .containsExactly(0);
        acknowledge(1); // but both had arrived
        assertThat(completedIds()).containsExactly(1L, 2L);
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.READY_TO_SEND);
        post(WorkOpcode.SEND, 3, 10);
        assertThat(end.transmit()).isEmpty();
        assertThat(end.takeCompletions().getFirst().status()).isEqualTo(WorkCompletionStatus.LOCAL_PROTECTION_ERROR);
    }

    @Test
    void refusesMemoryOfAnotherDomain() throws Exception {
        MemoryRegion foreign = end.newDomain().register(end.arena.allocate(64), Set.of());
        end.queuePair.postSend(end.send(1, WorkOpcode.SEND, foreign, 0, 10));
        assertThat(end.transmit()).isEmpty();
        assertThat(end.takeCompletions().getFirst().status()).isEqualTo(WorkCompletionStatus.LOCAL_PROTECTION_ERROR);
    }

    @Test
    void failsMessagesThatAreTooLong() {
        SendWorkRequest request = new SendWorkRequest(4);
        request.id(1);
        for (int i = 0; i < 3; i++) {
            request.addSge(memory.segment(), 0, 1 << 29, memory.lkey());
        }
        end.queuePair.postSend(request);
        assertThat(end.takeCompletions().getFirst().status()).isEqualTo(WorkCompletionStatus.LOCAL_LENGTH_ERROR);
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.ERROR);
    }

    @Test
    void failsReadsOnAConnectionWithoutAny() {
        RcEnd other = new RcEnd(US, RcTuning.DEFAULT);
        other.queuePair.connect(new RcParameters(PEER, PSN, 0x100, MTU, 0, 2, 7, 7, 1_000_000, 1));
        other.queuePair.postSend(other.send(1, WorkOpcode.RDMA_READ, other.region(10), 0, 10));
        assertThat(other.takeCompletions().getFirst().status())
                .isEqualTo(WorkCompletionStatus.LOCAL_QP_OPERATION_ERROR);
    }

    @Test
    void takesAChainWholeOrNotAtAll() {
        SendWorkRequest first = end.send(0, WorkOpcode.SEND, memory, 0, 1);
        SendWorkRequest last = first;
        for (int i = 1; i < 65; i++) {
            SendWorkRequest next = end.send(i, WorkOpcode.SEND, memory, 0, 1);
            last.next(next);
            last = next;
        }
        assertThatIllegalStateException()
                .isThrownBy(() -> end.queuePair.postSend(first))
                .withMessageContaining("64");
        assertThat(end.transmit()).isEmpty();
        end.queuePair.postSend(Objects.requireNonNull(first.next()));
        assertThat(end.transmit()).hasSize(16);
    }

    @Test
    void refusesWrongPosts() {
        SendWorkRequest wide = new SendWorkRequest(5);
        for (int i = 0; i < 5; i++) {
            wide.addSge(memory.segment(), 0, 1, memory.lkey());
        }
        assertThatIllegalArgumentException().isThrownBy(() -> end.queuePair.postSend(wide));
        SendWorkRequest negative = end.send(1, WorkOpcode.SEND, memory, 0, -1);
        assertThatIllegalArgumentException().isThrownBy(() -> end.queuePair.postSend(negative));
        SendWorkRequest long65 = end.send(1, WorkOpcode.SEND, memory, 0, 65);
        InlineMark.set(long65, true);
        assertThatIllegalArgumentException().isThrownBy(() -> end.queuePair.postSend(long65));
        RcEnd early = new RcEnd(US, RcTuning.DEFAULT);
        SendWorkRequest fine = end.send(1, WorkOpcode.SEND, memory, 0, 5);
        assertThatIllegalStateException().isThrownBy(() -> early.queuePair.postSend(fine));
        early.queuePair.destroy();
        assertThatIllegalStateException().isThrownBy(() -> early.queuePair.postSend(fine));
        assertThat(end.transmit()).isEmpty();
    }

    @Test
    void refusesAReadIntoMemoryThatMustNotBeWritten() {
        MemoryRegion readOnly = end.register(end.arena.allocate(64), Set.of(AccessFlag.REMOTE_READ));
        end.queuePair.postSend(end.send(1, WorkOpcode.RDMA_READ, readOnly, 0, 10));
        assertThat(end.transmit()).isEmpty();
        assertThat(end.takeCompletions().getFirst().status()).isEqualTo(WorkCompletionStatus.LOCAL_PROTECTION_ERROR);
    }
}

package org.nvmf4j.roce.rc;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nvmf4j.roce.wire.AethSyndrome;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.roce.wire.Psn;
import org.nvmf4j.testkit.GuardedMemory;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;

/** What SEND and RDMA WRITE packets do, right and wrong ones; the peer is a script. */
class ResponderTest {
    private static final int MTU = 256;
    private static final int US = 0xA;
    private static final int PSN = 0xFF_FFFE;

    private final RcEnd end = new RcEnd(US, RcTuning.DEFAULT);
    private final GuardedMemory guarded = new GuardedMemory(end.arena, 4 * MTU);
    private final MemoryRegion memory = end.register(guarded.segment(), RcEnd.ALL_RIGHTS);

    ResponderTest() {
        connect(2);
    }

    private void connect(int responderResources) {
        end.queuePair.connect(new RcParameters(0xB, 0x100, PSN, MTU, 2, responderResources, 7, 7, 1_000_000, 14));
    }

    private static int psn(int offset) {
        return PSN + offset & 0xFF_FFFF;
    }

    /** A request with counting bytes that asks for an acknowledgement where it ends a message. */
    private static Packet request(int opcode, int offset, int length) {
        boolean ends = (Opcode.flags(opcode) & Opcode.ENDS_MESSAGE) != 0;
        return Packet.of(opcode, US, psn(offset), ends, length).payload(RcEnd.bytes(length));
    }

    private Packet write(int opcode, int offset, int length, long at, int dmaLength) {
        return request(opcode, offset, length).reth(memory.address() + at, memory.rkey(), dmaLength);
    }

    private String transmitted() {
        end.pass(30_000);
        return String.join(
                ", ",
                end.transmit().stream()
                        .map(p -> AethSyndrome.words(p.syndrome()) + " " + Psn.diff(p.psn(), PSN) + " msn " + p.msn())
                        .toList());
    }

    private List<WorkCompletionStatus> statuses() {
        return end.takeCompletions().stream().map(RcEnd.Completion::status).toList();
    }

    private void expectFatal(int syndrome, int offset, int msn) {
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.ERROR);
        assertThat(transmitted()).isEqualTo(AethSyndrome.words(syndrome) + " " + offset + " msn " + msn);
        end.receive(request(Opcode.RC_SEND_ONLY, offset, 4));
        assertThat(transmitted()).as("silence afterwards").isEmpty();
        guarded.check();
    }

    @Test
    void placesAMessageInTheOldestReceive() {
        end.postReceive(1, memory, 0, 2 * MTU);
        end.postReceive(2, memory, 2 * MTU, MTU);
        end.receive(request(Opcode.RC_SEND_FIRST, 0, MTU));
        end.receive(request(Opcode.RC_SEND_LAST, 1, 5));
        end.receive(request(Opcode.RC_SEND_ONLY, 2, 0));
        assertThat(end.takeCompletions())
                .containsExactly(
                        new RcEnd.Completion(1, WorkCompletionStatus.SUCCESS, WorkOpcode.RECEIVE, MTU + 5, 0),
                        new RcEnd.Completion(2, WorkCompletionStatus.SUCCESS, WorkOpcode.RECEIVE, 0, 0));
        assertThat(RcEnd.read(memory, 0, MTU)).isEqualTo(RcEnd.bytes(MTU));
        assertThat(RcEnd.read(memory, MTU, 6)).containsExactly(0, 1, 2, 3, 4, 0);
        assertThat(transmitted()).isEqualTo("ACK 2 msn 2");
    }

    @Test
    void scattersAMessageOverTheElementsOfAReceive() {
        ReceiveWorkRequest receive = new ReceiveWorkRequest(4);
        receive.addSge(memory.segment(), 900, 100, memory.lkey());
        receive.addSge(memory.segment(), 0, 0, 0);
        receive.addSge(memory.segment(), 0, 200, memory.lkey());
        end.queuePair.postReceive(receive);
        end.receive(request(Opcode.RC_SEND_FIRST, 0, MTU));
        end.receive(request(Opcode.RC_SEND_LAST, 1, 44));
        assertThat(statuses()).containsExactly(WorkCompletionStatus.SUCCESS);
        byte[] data = RcEnd.bytes(MTU);
        assertThat(RcEnd.read(memory, 900, 100)).isEqualTo(Arrays.copyOf(data, 100));
        assertThat(RcEnd.read(memory, 0, 156)).isEqualTo(Arrays.copyOfRange(data, 100, 256));
        assertThat(RcEnd.read(memory, 156, 44)).isEqualTo(Arrays.copyOf(data, 44));
        assertThat(RcEnd.read(memory, 200, 700)).containsOnly(0);
        guarded.check();
    }

    @Test
    void writesWhereTheRethSays() {
        end.receive(write(Opcode.RC_WRITE_FIRST, 0, MTU, 10, 2 * MTU + 3));
        end.receive(request(Opcode.RC_WRITE_MIDDLE, 1, MTU));
        end.receive(request(Opcode.RC_WRITE_LAST, 2, 3));
        end.receive(write(Opcode.RC_WRITE_ONLY, 3, 2, 4 * MTU - 2, 2));
        assertThat(RcEnd.read(memory, 10, MTU)).isEqualTo(RcEnd.bytes(MTU));
        assertThat(RcEnd.read(memory, 10 + MTU, MTU)).isEqualTo(RcEnd.bytes(MTU));
        assertThat(RcEnd.read(memory, 10 + 2 * MTU, 4)).containsExactly(0, 1, 2, 0);
        assertThat(RcEnd.read(memory, 4 * MTU - 3, 3)).containsExactly(0, 0, 1);
        assertThat(end.takeCompletions()).isEmpty();
        assertThat(transmitted()).isEqualTo("ACK 3 msn 2");
        guarded.check();
    }

    @Test
    void makesAKeyInvalidWhenTheMessageSaysSo() {
        MemoryRegion other = end.region(8);
        int rkey = other.rkey();
        end.postReceive(1, memory, 0, MTU);
        end.receive(request(Opcode.RC_SEND_ONLY_WITH_INVALIDATE, 0, 16).ieth(rkey));
        assertThat(end.takeCompletions())
                .containsExactly(new RcEnd.Completion(1, WorkCompletionStatus.SUCCESS, WorkOpcode.RECEIVE, 16, rkey));
        assertThat(other.rkey()).isZero();
        assertThat(transmitted()).isEqualTo("ACK 0 msn 1");
    }

    @Test
    void failsWithoutANakWhenTheKeyToInvalidateIsWrong() {
        end.postReceive(1, memory, 0, MTU);
        end.postReceive(2, memory, 0, MTU);
        end.receive(request(Opcode.RC_SEND_ONLY_WITH_INVALIDATE, 0, 16).ieth(memory.rkey() ^ 1));
        assertThat(statuses())
                .containsExactly(
                        WorkCompletionStatus.REMOTE_INVALID_REQUEST, WorkCompletionStatus.WORK_REQUEST_FLUSHED);
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.ERROR);
        assertThat(transmitted()).isEmpty();
    }

    @Test
    void answersWithAnRnrNakWhereNoReceiveIsPosted() {
        end.receive(write(Opcode.RC_WRITE_ONLY, 0, 4, 0, 4));
        end.receive(request(Opcode.RC_SEND_FIRST, 1, MTU));
        end.receive(request(Opcode.RC_SEND_LAST, 2, 4)); // silently dropped
        assertThat(transmitted()).isEqualTo("RNR NAK wait 1280 us 1 msn 1");
        end.receive(request(Opcode.RC_SEND_FIRST, 1, MTU));
        assertThat(transmitted()).isEqualTo("RNR NAK wait 1280 us 1 msn 1");
        end.postReceive(1, memory, 0, 2 * MTU);
        end.receive(request(Opcode.RC_SEND_FIRST, 1, MTU));
        end.receive(request(Opcode.RC_SEND_LAST, 2, 4));
        assertThat(transmitted()).isEqualTo("ACK 2 msn 2");
        assertThat(statuses()).containsExactly(WorkCompletionStatus.SUCCESS);
    }

    @Test
    void reportsAGapOnceAndAcknowledgesTheFirstPacketBehindItAtOnce() {
        end.postReceive(1, memory, 0, 4 * MTU);
        end.receive(request(Opcode.RC_SEND_MIDDLE, 1, MTU));
        assertThat(transmitted()).isEqualTo("NAK PSN sequence error 0 msn 0");
        end.receive(request(Opcode.RC_SEND_MIDDLE, 2, MTU));
        end.receive(request(Opcode.RC_SEND_MIDDLE, 1, MTU));
        assertThat(transmitted()).isEmpty();
        end.receive(request(Opcode.RC_SEND_FIRST, 0, MTU)); // asks for no acknowledgement
        assertThat(end.queuePair.wantsTransmit()).isTrue();
        assertThat(transmitted()).isEqualTo("ACK 0 msn 0");
        end.receive(request(Opcode.RC_SEND_MIDDLE, 2, MTU));
        assertThat(transmitted()).isEqualTo("NAK PSN sequence error 1 msn 0");
        end.receive(request(Opcode.RC_SEND_MIDDLE, 1, MTU));
        end.receive(request(Opcode.RC_SEND_MIDDLE, 2, MTU));
        end.receive(request(Opcode.RC_SEND_LAST, 3, MTU));
        assertThat(transmitted()).isEqualTo("ACK 3 msn 1");
        assertThat(statuses()).containsExactly(WorkCompletionStatus.SUCCESS);
        assertThat(end.queuePair.statistics().sequenceNaksSent()).isEqualTo(2);
        assertThat(end.queuePair.statistics().outOfSequenceRequests()).isEqualTo(4);
    }

    @Test
    void reportsWhatIsMissingInTheEndWhenABatchArrivesOutOfOrder() {
        end.receive(write(Opcode.RC_WRITE_ONLY, 1, 4, 0, 4));
        end.receive(write(Opcode.RC_WRITE_ONLY, 0, 4, 0, 4));
        assertThat(transmitted())
                .as("the packet that came too early was dropped")
                .isEqualTo("NAK PSN sequence error 1 msn 1");
        end.receive(write(Opcode.RC_WRITE_ONLY, 2, 4, 0, 4));
        end.receive(write(Opcode.RC_WRITE_ONLY, 1, 4, 0, 4));
        end.receive(write(Opcode.RC_WRITE_ONLY, 2, 4, 0, 4));
        assertThat(transmitted()).as("nothing is missing any more").isEqualTo("ACK 2 msn 3");
    }

    @Test
    void acknowledgesDuplicatesWithoutExecutingThem() {
        end.postReceive(1, memory, 0, MTU);
        end.postReceive(2, memory, 0, MTU);
        Packet send = request(Opcode.RC_SEND_ONLY, 0, 4);
        Packet write = write(Opcode.RC_WRITE_ONLY, 1, 4, 100, 4);
        end.receive(send);
        end.receive(write);
        assertThat(transmitted()).isEqualTo("ACK 1 msn 2");
        guarded.segment().fill((byte) 9);
        end.receive(send);
        assertThat(end.queuePair.wantsTransmit()).isTrue();
        assertThat(transmitted()).isEqualTo("ACK 1 msn 2");
        end.receive(write);
        assertThat(transmitted()).isEqualTo("ACK 1 msn 2");
        assertThat(RcEnd.read(memory, 0, 4 * MTU)).containsOnly(9);
        assertThat(statuses()).hasSize(1);
        assertThat(end.queuePair.statistics().duplicateRequests()).isEqualTo(2);
    }

    @Test
    void dropsPacketsFromBeforeTheConnection() {
        end.receive(request(Opcode.RC_SEND_ONLY, -1, 4));
        end.receive(request(Opcode.RC_SEND_ONLY, -100, 4));
        assertThat(transmitted()).isEmpty();
        assertThat(end.queuePair.statistics().badPackets()).isEqualTo(2);
    }

    @ParameterizedTest
    @CsvSource({
        "0x00, 0x00", "0x00, 0x04", "0x00, 0x06", "0x00, 0x07", "0x00, 0x08", "0x00, 0x0A", "0x00, 0x0C", "0x00, 0x17",
        "0x06, 0x00", "0x06, 0x01", "0x06, 0x02", "0x06, 0x04", "0x06, 0x06", "0x06, 0x0A", "0x06, 0x0C", "0x06, 0x16",
        "0x04, 0x01", "0x04, 0x02", "0x04, 0x07", "0x04, 0x08", "0x04, 0x16"
    })
    void refusesOpcodesOutOfSequence(String first, String second) {
        end.postReceive(1, memory, 0, 4 * MTU);
        end.postReceive(2, memory, 0, 4 * MTU);
        int before = Integer.decode(first);
        int length = before == Opcode.RC_SEND_ONLY ? 4 : MTU;
        end.receive(
                before == Opcode.RC_WRITE_FIRST ? write(before, 0, length, 0, 3 * MTU) : request(before, 0, length));
        int after = Integer.decode(second);
        boolean payload = (Opcode.flags(after) & Opcode.HAS_PAYLOAD) != 0;
        Packet packet = request(after, 1, payload ? MTU : 0);
        if ((Opcode.flags(after) & Opcode.HAS_RETH) != 0) {
            packet.reth(memory.address(), memory.rkey(), MTU);
        }
        end.receive(packet);
        expectFatal(AethSyndrome.NAK_INVALID_REQUEST, 1, before == Opcode.RC_SEND_ONLY ? 1 : 0);
    }

    @ParameterizedTest
    @ValueSource(
            ints = {
                Opcode.RC_SEND_LAST_WITH_IMMEDIATE,
                Opcode.RC_SEND_ONLY_WITH_IMMEDIATE,
                Opcode.RC_WRITE_ONLY_WITH_IMMEDIATE,
                Opcode.RC_COMPARE_SWAP,
                Opcode.RC_FETCH_ADD
            })
    void refusesOpcodesThatAreNotServed(int opcode) {
        end.postReceive(1, memory, 0, MTU);
        end.receive(request(opcode, 0, 0));
        assertThat(statuses()).containsExactly(WorkCompletionStatus.WORK_REQUEST_FLUSHED);
        expectFatal(AethSyndrome.NAK_INVALID_REQUEST, 0, 0);
    }

    @ParameterizedTest
    @CsvSource({
        "0x00, 255, 0x01, 4",
        "0x00, 0, 0x01, 4",
        "0x00, 260, 0x01, 4", // first
        "0x00, 256, 0x01, 252",
        "0x00, 256, 0x01, 260",
        "0x00, 256, 0x01, 0", // middle
        "0x00, 256, 0x02, 0",
        "0x00, 256, 0x02, 257", // last
        "0x00, 256, 0x16, 0",
        "0x00, 256, 0x16, 257"
    })
    void refusesPacketsOfTheWrongLength(String first, int firstLength, String second, int secondLength) {
        end.postReceive(1, memory, 0, 4 * MTU);
        end.receive(request(Integer.decode(first), 0, firstLength));
        end.receive(request(Integer.decode(second), 1, secondLength));
        expectFatal(AethSyndrome.NAK_INVALID_REQUEST, firstLength == MTU ? 1 : 0, 0);
    }

    @ParameterizedTest
    @ValueSource(ints = {257, 400, 4096})
    void refusesMessagesOfOnePacketThatExceedThePathMtu(int length) {
        end.postReceive(1, memory, 0, 4 * MTU);
        end.receive(request(Opcode.RC_SEND_ONLY, 0, length));
        expectFatal(AethSyndrome.NAK_INVALID_REQUEST, 0, 0);
    }

    @ParameterizedTest
    @CsvSource({
        "0x06, 256, 256",
        "0x06, 256, 100",
        "0x06, 256, 0", // FIRST, but nothing would be left
        "0x0A, 100, 99",
        "0x0A, 100, 101",
        "0x0A, 0, 1",
        "0x0A, 1, 0", // ONLY of another length
    })
    void refusesWritesWhoseLengthIsNotWhatTheRethSays(String opcode, int payload, int dmaLength) {
        end.receive(write(Integer.decode(opcode), 0, payload, 0, dmaLength));
        expectFatal(AethSyndrome.NAK_INVALID_REQUEST, 0, 0);
        assertThat(RcEnd.read(memory, 0, 4 * MTU)).containsOnly(0);
    }

    @ParameterizedTest
    @CsvSource({"0x07, 256", "0x08, 1", "0x08, 3", "0x08, 255", "0x08, 256"})
    void refusesWritesThatEndTooSoonOrTooLate(String opcode, int payload) {
        end.receive(write(Opcode.RC_WRITE_FIRST, 0, MTU, 0, MTU + 2));
        end.receive(request(Integer.decode(opcode), 1, payload));
        expectFatal(AethSyndrome.NAK_INVALID_REQUEST, 1, 0);
        assertThat(RcEnd.read(memory, MTU, 3 * MTU)).containsOnly(0);
    }

    @Test
    void refusesMessagesLongerThanTheReceive() {
        end.postReceive(1, memory, 0, MTU + 3);
        end.postReceive(2, memory, 0, MTU + 3);
        end.receive(request(Opcode.RC_SEND_FIRST, 0, MTU));
        end.receive(request(Opcode.RC_SEND_LAST, 1, 4));
        assertThat(statuses())
                .containsExactly(WorkCompletionStatus.LOCAL_LENGTH_ERROR, WorkCompletionStatus.WORK_REQUEST_FLUSHED);
        assertThat(RcEnd.read(memory, MTU, 3 * MTU)).containsOnly(0);
        expectFatal(AethSyndrome.NAK_INVALID_REQUEST, 1, 0);
    }

    @Test
    void failsWhereTheReceiveNamesMemoryThatMustNotBeWritten() {
        MemoryRegion readOnly = end.register(end.arena.allocate(64), EnumSet.noneOf(AccessFlag.class));
        end.postReceive(1, readOnly, 0, 64);
        end.receive(request(Opcode.RC_SEND_ONLY, 0, 4));
        assertThat(statuses()).containsExactly(WorkCompletionStatus.LOCAL_PROTECTION_ERROR);
        assertThat(RcEnd.read(readOnly, 0, 64)).containsOnly(0);
        expectFatal(AethSyndrome.NAK_REMOTE_OPERATIONAL_ERROR, 0, 0);
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, 4 * MTU - 3, 4 * MTU, Long.MAX_VALUE, Long.MIN_VALUE, -1025})
    void refusesWritesOutsideTheRegion(long at) {
        end.receive(write(Opcode.RC_WRITE_ONLY, 0, 4, at, 4));
        expectFatal(AethSyndrome.NAK_REMOTE_ACCESS_ERROR, 0, 0);
        assertThat(RcEnd.read(memory, 0, 4 * MTU)).containsOnly(0);
    }

    @Test
    void refusesAWriteAtOnceWhoseEndLiesOutsideTheRegion() {
        end.receive(write(Opcode.RC_WRITE_FIRST, 0, MTU, 0, 4 * MTU + 1));
        expectFatal(AethSyndrome.NAK_REMOTE_ACCESS_ERROR, 0, 0);
        assertThat(RcEnd.read(memory, 0, 4 * MTU)).containsOnly(0);
    }

    @Test
    void refusesWritesOfMoreThanTwoGigabytes() {
        end.receive(write(Opcode.RC_WRITE_FIRST, 0, MTU, 0, 0x8000_0001));
        expectFatal(AethSyndrome.NAK_INVALID_REQUEST, 0, 0);
    }

    @Test
    void refusesKeysThatGrantNoWriting() throws Exception {
        MemoryRegion region = end.register(end.arena.allocate(64), Set.of(AccessFlag.REMOTE_READ));
        end.receive(request(Opcode.RC_WRITE_ONLY, 0, 4).reth(region.address(), region.rkey(), 4));
        expectFatal(AethSyndrome.NAK_REMOTE_ACCESS_ERROR, 0, 0);
        assertThat(RcEnd.read(region, 0, 64)).containsOnly(0);
    }

    @Test
    void refusesKeysOfAnotherDomainAndLocalOnes() throws Exception {
        MemoryRegion foreign = end.newDomain().register(end.arena.allocate(64), RcEnd.ALL_RIGHTS);
        end.receive(request(Opcode.RC_WRITE_ONLY, 0, 4).reth(foreign.address(), foreign.rkey(), 4));
        expectFatal(AethSyndrome.NAK_REMOTE_ACCESS_ERROR, 0, 0);
        RcEnd other = new RcEnd(US, RcTuning.DEFAULT);
        other.queuePair.connect(new RcParameters(0xB, 0x100, PSN, MTU, 2, 2, 7, 7, 1_000_000, 14));
        MemoryRegion local = other.region(64);
        other.receive(request(Opcode.RC_WRITE_ONLY, 0, 4).reth(local.address(), local.lkey(), 4));
        assertThat(other.transmit().getFirst().syndrome()).isEqualTo(AethSyndrome.NAK_REMOTE_ACCESS_ERROR);
    }

    @Test
    void noticesARegionThatGoesAwayBetweenTwoPackets() {
        end.receive(write(Opcode.RC_WRITE_FIRST, 0, MTU, 0, 2 * MTU));
        memory.close();
        end.receive(request(Opcode.RC_WRITE_LAST, 1, MTU));
        expectFatal(AethSyndrome.NAK_REMOTE_ACCESS_ERROR, 1, 0);
        assertThat(RcEnd.read(memory, MTU, MTU)).containsOnly(0);
    }

    @Test
    void needsNoKeyForAnEmptyWrite() {
        end.receive(request(Opcode.RC_WRITE_ONLY, 0, 0).reth(-1, 0xDEAD_BEEF, 0));
        assertThat(transmitted()).isEqualTo("ACK 0 msn 1");
    }

    @Test
    void dropsWhatIsMalformedOrNotForIt() {
        end.postReceive(1, memory, 0, MTU);
        Packet good = request(Opcode.RC_SEND_ONLY, 0, 8);
        end.queuePair.onPacket(good.memory(), 0, 8, 0); // shorter than a BTH
        end.queuePair.onPacket(good.memory(), 0, 13, 0); // no multiple of 4
        end.queuePair.onPacket(good.memory(), 0, 0, 0);
        end.queuePair.onPacket(good.memory(), 0, -4, 0);
        end.receive(damaged(1, 0x01)); // version
        end.receive(damaged(2, 0x10)); // partition
        end.receive(damaged(7, 0x01)); // destination
        end.receive(damaged(0, 0x60)); // transport
        end.receive(damaged(0, 0x1A)); // unknown opcode
        end.receive(damaged(0, Opcode.RC_SEND_ONLY ^ Opcode.RC_ATOMIC_ACKNOWLEDGE));
        end.receive(Packet.of(Opcode.CNP, US, psn(0), false, 0));
        Packet padded = Packet.of(Opcode.RC_SEND_ONLY, US, psn(0), false, 0);
        padded.bytes()[1] |= 0x30; // padding without payload
        end.receive(padded);
        Packet ackWithPayload = Packet.of(Opcode.RC_SEND_ONLY, US, psn(0), false, 8);
        ackWithPayload.bytes()[0] = Opcode.RC_ACKNOWLEDGE;
        end.receive(ackWithPayload);
        assertThat(end.queuePair.statistics().badPackets()).isEqualTo(13);
        assertThat(end.queuePair.statistics().packetsReceived()).isEqualTo(13);
        assertThat(transmitted()).isEmpty();
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.READY_TO_SEND);
        end.receive(good);
        assertThat(statuses()).containsExactly(WorkCompletionStatus.SUCCESS);
    }

    private static Packet damaged(int at, int bits) {
        Packet packet = request(Opcode.RC_SEND_ONLY, 0, 8);
        packet.bytes()[at] ^= (byte) bits;
        return packet;
    }

    @Test
    void takesPartialMembersOfThePartition() {
        end.postReceive(1, memory, 0, MTU);
        end.receive(damaged(2, 0x80));
        assertThat(statuses()).containsExactly(WorkCompletionStatus.SUCCESS);
    }

    @Test
    void takesNothingBeforeItIsConnectedOrAfterItFailed() {
        RcEnd early = new RcEnd(US, RcTuning.DEFAULT);
        early.postReceive(1, early.region(MTU), 0, MTU);
        early.receive(request(Opcode.RC_SEND_ONLY, 0, 8));
        assertThat(early.takeCompletions()).isEmpty();
        end.queuePair.toError();
        end.receive(write(Opcode.RC_WRITE_ONLY, 0, 4, 0, 4));
        end.receive(Packet.acknowledge(US, 0x100, AethSyndrome.ACK, 0));
        assertThat(RcEnd.read(memory, 0, 4)).containsOnly(0);
        assertThat(transmitted()).isEmpty();
    }
}

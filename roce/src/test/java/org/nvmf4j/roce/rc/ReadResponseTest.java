package org.nvmf4j.roce.rc;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nvmf4j.roce.wire.AethSyndrome;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.roce.wire.Psn;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.QueuePairState;

/** RDMA READ as the responder sees it, and the order of responses; the peer is a script. */
class ReadResponseTest {
    private static final int MTU = 256;
    private static final int US = 0xA;
    private static final int PSN = 0xFF_FFFE;

    private final RcEnd end = new RcEnd(US, RcTuning.DEFAULT);
    private final MemoryRegion memory = end.pattern(8 * MTU);

    ReadResponseTest() {
        end.queuePair.connect(new RcParameters(0xB, 0x100, PSN, MTU, 2, 2, 7, 7, 1_000_000, 14));
    }

    private static Packet request(int opcode, int offset, int length) {
        boolean ends = (Opcode.flags(opcode) & Opcode.ENDS_MESSAGE) != 0;
        return Packet.of(opcode, US, PSN + offset & 0xFF_FFFF, ends, length).payload(RcEnd.bytes(length));
    }

    private void read(int offset, long at, int length) {
        end.receive(request(Opcode.RC_READ_REQUEST, offset, 0).reth(memory.address() + at, memory.rkey(), length));
    }

    private void write(int offset) {
        MemoryRegion other = end.region(8);
        end.receive(request(Opcode.RC_WRITE_ONLY, offset, 4).reth(other.address(), other.rkey(), 4));
    }

    /** What leaves now, each packet in a few letters. */
    private List<String> transmitted() {
        return end.transmit().stream().map(ReadResponseTest::describe).toList();
    }

    private static String describe(Packet packet) {
        int psn = Psn.diff(packet.psn(), PSN);
        return switch (packet.opcode()) {
            case Opcode.RC_READ_RESPONSE_FIRST -> "first " + psn + " msn " + packet.msn();
            case Opcode.RC_READ_RESPONSE_MIDDLE -> "middle " + psn;
            case Opcode.RC_READ_RESPONSE_LAST -> "last " + psn + " msn " + packet.msn();
            case Opcode.RC_READ_RESPONSE_ONLY -> "only " + psn + " msn " + packet.msn();
            default -> AethSyndrome.words(packet.syndrome()) + " " + psn + " msn " + packet.msn();
        };
    }

    private void expectFatal(int syndrome, int offset, int msn) {
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.ERROR);
        assertThat(transmitted()).containsExactly(AethSyndrome.words(syndrome) + " " + offset + " msn " + msn);
    }

    @Test
    void answersWithTheBytesAskedFor() {
        read(0, 100, 2 * MTU + 5);
        assertThat(end.queuePair.wantsTransmit()).isTrue();
        List<Packet> packets = end.transmit();
        assertThat(packets)
                .extracting(ReadResponseTest::describe)
                .containsExactly("first 0 msn 1", "middle 1", "last 2 msn 1");
        byte[] pattern = RcEnd.bytes(8 * MTU);
        assertThat(packets.get(0).payload()).isEqualTo(Arrays.copyOfRange(pattern, 100, 100 + MTU));
        assertThat(packets.get(1).payload()).isEqualTo(Arrays.copyOfRange(pattern, 100 + MTU, 100 + 2 * MTU));
        assertThat(packets.get(2).payload()).isEqualTo(Arrays.copyOfRange(pattern, 100 + 2 * MTU, 105 + 2 * MTU));
        read(3, 0, MTU);
        read(4, 8 * MTU - 1, 1);
        assertThat(transmitted()).containsExactly("only 3 msn 2", "only 4 msn 3");
    }

    @Test
    void answersAnEmptyReadWithoutLookingAtItsKey() {
        end.receive(request(Opcode.RC_READ_REQUEST, 0, 0).reth(-1, 0xDEAD, 0));
        assertThat(transmitted()).containsExactly("only 0 msn 1");
    }

    @ParameterizedTest
    @CsvSource({"-1, 4", "0, 2049", "2048, 1", "9223372036854775807, 4", "2047, 0x40000000"})
    void refusesToReadOutsideTheRegion(long at, String length) {
        read(0, at, Integer.decode(length));
        expectFatal(AethSyndrome.NAK_REMOTE_ACCESS_ERROR, 0, 0);
    }

    @ParameterizedTest
    @ValueSource(ints = {0x4000_0001, 0x8000_0000, -1})
    void refusesReadsThatNobodyCouldMean(int length) {
        read(0, 0, length);
        expectFatal(AethSyndrome.NAK_INVALID_REQUEST, 0, 0);
    }

    @Test
    void refusesKeysThatGrantNoReading() {
        MemoryRegion region =
                end.register(end.arena.allocate(64), Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE));
        end.receive(request(Opcode.RC_READ_REQUEST, 0, 0).reth(region.address(), region.rkey(), 4));
        expectFatal(AethSyndrome.NAK_REMOTE_ACCESS_ERROR, 0, 0);
    }

    @Test
    void refusesReadsBeyondTheResponderResources() {
        read(0, 0, MTU);
        read(1, 0, MTU);
        read(2, 0, MTU);
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.ERROR);
        assertThat(transmitted())
                .as("what came before is still answered")
                .containsExactly("only 0 msn 1", "only 1 msn 2", "NAK invalid request 2 msn 2");
    }

    @Test
    void refusesReadsWhereNoneWasAgreed() {
        RcEnd none = new RcEnd(US, RcTuning.DEFAULT);
        none.queuePair.connect(new RcParameters(0xB, 0x100, PSN, MTU, 2, 0, 7, 7, 1_000_000, 14));
        none.receive(request(Opcode.RC_READ_REQUEST, 0, 0).reth(0, 0, 0));
        assertThat(none.transmit().getFirst().syndrome()).isEqualTo(AethSyndrome.NAK_INVALID_REQUEST);
    }

    @Test
    void goesOnWithReadsOnceEarlierOnesAreAnswered() {
        for (int i = 0; i < 20; i++) {
            read(i, 0, MTU);
            assertThat(transmitted()).containsExactly("only " + i + " msn " + (i + 1));
        }
    }

    @Test
    void answersARepeatedReadFromMemoryWholeOrFromItsMiddle() {
        read(0, 0, 4 * MTU);
        transmitted();
        memory.segment().fill((byte) 5);
        read(0, 0, 4 * MTU);
        assertThat(transmitted()).containsExactly("first 0 msn 1", "middle 1", "middle 2", "last 3 msn 1");
        read(2, 2 * MTU, 2 * MTU);
        List<Packet> packets = end.transmit();
        assertThat(packets).extracting(ReadResponseTest::describe).containsExactly("first 2 msn 1", "last 3 msn 1");
        assertThat(packets.getFirst().payload()).hasSize(MTU).containsOnly(5);
        read(3, 3 * MTU, MTU);
        assertThat(transmitted()).containsExactly("only 3 msn 1");
        read(1, MTU, MTU + 7); // a part that ends early
        packets = end.transmit();
        assertThat(packets).extracting(ReadResponseTest::describe).containsExactly("first 1 msn 1", "last 2 msn 1");
        assertThat(packets.getLast().payload()).hasSize(7);
        assertThat(end.queuePair.statistics().duplicateRequests()).isEqualTo(4);
    }

    @Test
    void saysTheCurrentMsnWhenItAnswersAgain() {
        read(0, 0, MTU);
        write(1);
        transmitted();
        read(0, 0, MTU);
        assertThat(transmitted()).containsExactly("only 0 msn 2");
    }

    @Test
    void dropsRepeatedReadsThatItDoesNotRemember() {
        read(0, 0, 2 * MTU);
        transmitted();
        read(0, 4, 2 * MTU); // another address
        read(1, 0, MTU);
        read(0, 0, 2 * MTU + 1); // longer
        read(1, MTU, MTU + 1);
        end.receive(request(Opcode.RC_READ_REQUEST, 0, 0).reth(memory.address(), memory.rkey() ^ 1, 2 * MTU));
        assertThat(transmitted()).isEmpty();
        for (int i = 2; i < 4; i++) {
            read(i, 0, MTU);
            transmitted();
        }
        read(0, 0, 2 * MTU); // forgotten: only two are remembered
        assertThat(transmitted()).isEmpty();
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.READY_TO_SEND);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void refusesMemoryThatIsGoneAlsoToARepeatedRead(boolean repeated) {
        MemoryRegion fleeting =
                end.register(end.arena.allocate(MTU), Set.of(AccessFlag.REMOTE_READ, AccessFlag.ON_DEMAND));
        Packet request = request(Opcode.RC_READ_REQUEST, 0, 0).reth(fleeting.address(), fleeting.rkey(), MTU);
        if (repeated) {
            end.receive(request);
            assertThat(transmitted()).containsExactly("only 0 msn 1");
        }
        end.sink.vanish();
        end.receive(request);
        assertThat(transmitted())
                .containsExactly(AethSyndrome.words(AethSyndrome.NAK_REMOTE_OPERATIONAL_ERROR) + " 0 msn 1");
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.ERROR);
    }

    @Test
    void survivesAStrayReadForMemoryThatWasTakenBack() {
        read(0, 0, MTU);
        transmitted();
        memory.renewRkey();
        MemoryRegion region = memory;
        end.receive(request(Opcode.RC_READ_REQUEST, 0, 0).reth(region.address(), region.rkey(), MTU));
        assertThat(transmitted()).isEmpty();
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.READY_TO_SEND);
    }

    @Test
    void survivesARepeatedReadWhoseKeyHasBecomeInvalid() {
        int rkey = memory.rkey();
        read(0, 0, 2 * MTU);
        transmitted();
        memory.renewRkey();
        end.receive(request(Opcode.RC_READ_REQUEST, 0, 0).reth(memory.address(), rkey, 2 * MTU));
        assertThat(transmitted()).isEmpty();
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.READY_TO_SEND);
        write(2);
        end.pass(30_000);
        assertThat(transmitted()).containsExactly("ACK 2 msn 2");
    }

    @Test
    void failsAReadWhoseKeyBecomesInvalidInItsMidst() {
        read(0, 0, 3 * MTU);
        end.sink.room(1);
        assertThat(end.queuePair.pollTransmit(end.sink, 0)).isTrue();
        end.sink.clear();
        memory.renewRkey();
        write(3);
        assertThat(transmitted()).containsExactly("NAK remote access error 1 msn 2");
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.ERROR);
    }

    @Test
    void answersInTheOrderOfRequests() {
        write(0);
        read(1, 0, 2 * MTU);
        write(3);
        write(4);
        read(5, 0, MTU);
        write(6);
        assertThat(transmitted())
                .containsExactly(
                        "ACK 0 msn 1", "first 1 msn 2", "last 2 msn 2", "ACK 4 msn 4", "only 5 msn 5", "ACK 6 msn 6");
    }

    @Test
    void sendsNaksBehindTheResponsesThatAreDue() {
        read(0, 0, 2 * MTU);
        write(4);
        assertThat(transmitted()).containsExactly("first 0 msn 1", "last 1 msn 1", "NAK PSN sequence error 2 msn 1");
        read(2, 0, MTU);
        end.receive(request(Opcode.RC_SEND_ONLY, 3, 4));
        assertThat(transmitted()).containsExactly("only 2 msn 2", "RNR NAK wait 1280 us 3 msn 2");
    }

    @Test
    void acknowledgesARepeatedSendWithoutPassingOverTheReadBehindIt() {
        write(0);
        read(1, 0, 2 * MTU);
        write(3);
        end.transmit();
        write(0);
        assertThat(transmitted()).as("its responses may be lost").containsExactly("ACK 0 msn 3");
        write(0);
        read(1, 0, 2 * MTU);
        write(3);
        assertThat(transmitted()).containsExactly("ACK 0 msn 3", "first 1 msn 3", "last 2 msn 3", "ACK 3 msn 3");
    }

    @Test
    void goesBackInTheMidstOfResponses() {
        read(0, 0, 4 * MTU);
        read(4, 0, MTU);
        end.sink.room(3);
        end.queuePair.pollTransmit(end.sink, 0);
        end.sink.clear();
        end.sink.room(64);
        read(1, MTU, 3 * MTU);
        assertThat(transmitted()).containsExactly("first 1 msn 2", "middle 2", "last 3 msn 2", "only 4 msn 2");
    }

    @Test
    void answersNoReadsAfterItFailed() {
        read(0, 0, 4 * MTU);
        end.queuePair.toError();
        assertThat(transmitted()).isEmpty();
        assertThat(end.queuePair.wantsTransmit()).isFalse();
    }
}

package org.nvmf4j.roce.rc;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nvmf4j.roce.rc.CapturedConnection.Captured;
import org.nvmf4j.roce.wire.Aeth;
import org.nvmf4j.roce.wire.AethSyndrome;
import org.nvmf4j.roce.wire.Bth;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.roce.wire.Psn;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.WorkOpcode;

/**
 * Puts this queue pair in the place of one end of connections between Linux kernels (rdma_rxe): given the same packets it must answer
 * like the kernel, and given the same work it must send like it.
 */
class CaptureReplayTest {
    private static final int RECEIVE_BYTES = 16_384;

    /** Acknowledges each packet that asks, as the kernel does. */
    private static final RcTuning LIKE_THE_KERNEL = new RcTuning(512, 512, 1, 0, 0, 0);

    /** Remote memory that requests of the capture name, and its stand-in. */
    private record StandIn(long address, MemoryRegion region) {}

    private static RcEnd connect(CapturedConnection capture, int mtu, int sendPsn, int receivePsn) {
        RcEnd end = new RcEnd(
                capture.queuePairNumber,
                new RcSizes(128, 128, 4, 0),
                LIKE_THE_KERNEL,
                new SplittableRandom(1),
                Arena.ofAuto(),
                1024);
        end.queuePair.connect(
                new RcParameters(capture.queuePairNumber, sendPsn, receivePsn, mtu, 16, 16, 7, 7, 4_000_000_000L, 1));
        return end;
    }

    /** What matters about a packet: all but flags that a sender may choose. */
    private static String describe(Packet packet, int msnShift) {
        MemorySegment memory = packet.memory();
        int opcode = packet.opcode();
        StringBuilder text = new StringBuilder(Opcode.name(opcode))
                .append(" psn ")
                .append(packet.psn())
                .append(" pad ")
                .append(Bth.padCount(memory, 0))
                .append(" payload ")
                .append(packet.payload().length)
                .append(' ')
                .append(Arrays.hashCode(packet.payload()));
        if ((Opcode.flags(opcode) & Opcode.HAS_AETH) != 0) {
            text.append(' ')
                    .append(AethSyndrome.words(packet.syndrome()))
                    .append(" msn ")
                    .append(Psn.add(Aeth.msn(memory, Bth.LENGTH), msnShift));
        }
        if ((Opcode.flags(opcode) & Opcode.HAS_RETH) != 0) {
            text.append(" reth ").append(packet.address()).append(' ').append(packet.rkey());
            text.append(' ').append(packet.dmaLength());
        }
        return text.toString();
    }

    private static String bytes(Packet packet) {
        return packet.psn() + " payload " + Arrays.hashCode(packet.payload());
    }

    @ParameterizedTest
    @CsvSource({
        "a-discovery, 0x11, 1024",
        "b-connect, 0x12, 1024",
        "b-connect, 0x13, 1024",
        "b-connect, 0x14, 1024",
        "c1-write4k, 0x16, 1024",
        "c2-read4k, 0x16, 1024",
        "c3-write8k, 0x17, 1024",
        "c4-write128k, 0x16, 1024",
        "c5-read128k, 0x17, 1024",
        "c8-write512, 0x17, 1024",
        "c9-read512, 0x16, 1024",
        "c10-flush, 0x17, 1024",
        "c11-write-zeroes, 0x15, 1024",
        "c12-dsm, 0x16, 1024",
        "c13-read-out-of-range, 0x17, 1024",
        "d-disconnect, 0x18, 1024",
        "e1-unknown-nqn, 0x1b, 1024",
        "f-mtu4200-connect, 0x1b, 4096",
        "f-mtu4200-connect, 0x1c, 4096",
        "f-mtu4200-read128k, 0x1d, 4096",
        "f-mtu4200-write128k, 0x1d, 4096",
        "g4-loss-target-read4k, 0x12, 1024"
    })
    void answersAndSendsLikeTheKernel(String file, String number, int mtu) throws IOException {
        CapturedConnection capture = CapturedConnection.read(file, Integer.decode(number));
        for (String us : new String[] {CapturedConnection.HOST, CapturedConnection.TARGET}) {
            String peer = us.equals(CapturedConnection.HOST) ? CapturedConnection.TARGET : CapturedConnection.HOST;
            if (capture.hasRequests(peer)) {
                replayResponder(capture, us, peer, mtu);
            }
            if (capture.hasRequests(us)) {
                replayRequester(capture, us, mtu);
            }
        }
    }

    /**
     * The capture shows packets that the kernel then lost; it named them in its NAKs. We answer alike, but also acknowledge the
     * first packet behind a gap at once, so that a second loss can be reported soon.
     */
    @Test
    void reportsLossesLikeTheKernel() throws IOException {
        CapturedConnection capture = CapturedConnection.read("g1-loss-host-read128k", 0x12);
        List<Integer> lost = capture.packets.stream()
                .filter(p -> p.packet().opcode() == Opcode.RC_ACKNOWLEDGE
                        && p.packet().syndrome() == AethSyndrome.NAK_PSN_SEQUENCE_ERROR)
                .map(p -> p.packet().psn())
                .toList();
        assertThat(lost).hasSize(2);
        for (int psn : lost) {
            capture.packets.remove(capture.packets.stream()
                    .filter(p -> p.isRequest() && p.packet().psn() == psn)
                    .findFirst()
                    .orElseThrow());
        }
        List<Packet> answers = responderAnswers(capture, CapturedConnection.TARGET, 1024);
        answers.removeIf(p -> AethSyndrome.isAck(p.syndrome()) && lost.contains(p.psn()));
        compareAnswers(capture, CapturedConnection.HOST, CapturedConnection.TARGET, answers, false);
    }

    /** Asked again for the rest of a READ, the kernel goes on with Middle, we begin with First, as hardware does. */
    @Test
    void answersPartialReadsWithTheSameBytes() throws IOException {
        CapturedConnection capture = CapturedConnection.read("g3-loss-target-write128k", 0x12);
        List<Packet> answers = responderAnswers(capture, CapturedConnection.TARGET, 1024);
        assertThat(answers).hasSizeGreaterThan(200);
        compareAnswers(capture, CapturedConnection.HOST, CapturedConnection.TARGET, answers, true);
    }

    private void replayResponder(CapturedConnection capture, String us, String peer, int mtu) {
        compareAnswers(capture, us, peer, responderAnswers(capture, peer, mtu), false);
    }

    private static List<Packet> responderAnswers(CapturedConnection capture, String peer, int mtu) {
        RcEnd end = connect(capture, mtu, 0, capture.firstPsn(peer));
        for (int i = 0; i < 100; i++) {
            end.postReceive(i, end.region(RECEIVE_BYTES), 0, RECEIVE_BYTES);
        }
        Map<Integer, StandIn> memory = new HashMap<>();
        List<Packet> answers = new ArrayList<>();
        for (Captured captured : capture.packets) {
            if (captured.from().equals(peer) && captured.isRequest()) {
                end.receive(translated(captured, capture, end, memory, mtu));
                answers.addAll(end.transmit());
            }
        }
        assertThat(end.queuePair.state()).isEqualTo(QueuePairState.READY_TO_SEND);
        return answers;
    }

    /** The kernel counts messages from the connection's beginning, which the capture may not show. */
    private static void compareAnswers(
            CapturedConnection capture, String us, String peer, List<Packet> answers, boolean bytesOnly) {
        List<Packet> expected = capture.packets.stream()
                .filter(p -> p.from().equals(us) && !p.isRequest())
                .map(Captured::packet)
                .filter(p -> Psn.diff(p.psn(), capture.firstPsn(peer)) >= 0)
                .toList();
        int msnShift = expected.isEmpty()
                ? 0
                : answers.getFirst().msn() - expected.getFirst().msn();
        List<String> ours =
                answers.stream().map(p -> bytesOnly ? bytes(p) : describe(p, 0)).toList();
        List<String> theirs = expected.stream()
                .map(p -> bytesOnly ? bytes(p) : describe(p, msnShift))
                .toList();
        assertThat(ours).isEqualTo(theirs);
    }

    /** A request of the capture with keys and addresses of the stand-in memory. */
    private static Packet translated(
            Captured captured, CapturedConnection capture, RcEnd end, Map<Integer, StandIn> memory, int mtu) {
        Packet packet = new Packet(captured.packet().bytes().clone());
        if ((captured.flags() & Opcode.HAS_RETH) != 0) {
            StandIn standIn = memory.get(packet.rkey());
            if (standIn == null || standIn.region().rkey() == 0) {
                standIn = standIn(captured, capture, end, mtu);
                memory.put(packet.rkey(), standIn);
            }
            long address = standIn.region().address() + packet.address() - standIn.address();
            packet.reth(address, standIn.region().rkey(), (int) packet.dmaLength());
        } else if ((captured.flags() & Opcode.HAS_IETH) != 0) {
            StandIn standIn = memory.get(captured.invalidatedRkey());
            packet.ieth((standIn == null ? end.region(8) : standIn.region()).rkey());
        }
        return packet;
    }

    private static StandIn standIn(Captured captured, CapturedConnection capture, RcEnd end, int mtu) {
        Packet packet = captured.packet();
        MemoryRegion region = end.region(Math.max(8, packet.dmaLength()));
        if (captured.isRead()) {
            byte[] data = capture.readData(captured, mtu);
            MemorySegment.copy(MemorySegment.ofArray(data), 0, region.segment(), 0, data.length);
        }
        return new StandIn(packet.address(), region);
    }

    private void replayRequester(CapturedConnection capture, String us, int mtu) {
        RcEnd end = connect(capture, mtu, capture.firstPsn(us), 0);
        List<Packet> sent = new ArrayList<>();
        List<String> expected = new ArrayList<>();
        for (int i = 0; i < capture.packets.size(); i++) {
            Captured captured = capture.packets.get(i);
            if (!captured.from().equals(us)) {
                if (!captured.isRequest()) {
                    end.receive(captured.packet());
                }
            } else if (captured.isRequest()) {
                expected.add(describe(captured.packet(), 0));
                if ((captured.flags() & Opcode.STARTS_MESSAGE) != 0) {
                    end.queuePair.postSend(work(capture, i, end));
                }
            }
            sent.addAll(end.transmit());
        }
        assertThat(sent.stream().map(p -> describe(p, 0)).toList()).isEqualTo(expected);
        assertThat(sent.stream().filter(p -> (Opcode.flags(p.opcode()) & Opcode.ENDS_MESSAGE) != 0))
                .allMatch(Packet::ackRequest);
    }

    /** The work request whose first packet is the capture's i-th. */
    private static SendWorkRequest work(CapturedConnection capture, int i, RcEnd end) {
        Captured first = capture.packets.get(i);
        SendWorkRequest request = new SendWorkRequest(1);
        int length = 0;
        MemoryRegion region = end.region(1 << 18);
        Captured last = first;
        if (first.isRead()) {
            length = (int) first.packet().dmaLength();
            request.opcode(WorkOpcode.RDMA_READ);
        } else {
            for (int k = i; last == first || (last.flags() & Opcode.ENDS_MESSAGE) == 0; k++) {
                Captured next = capture.packets.get(k);
                if (next.from().equals(first.from()) && next.isRequest()) {
                    byte[] payload = next.packet().payload();
                    MemorySegment.copy(MemorySegment.ofArray(payload), 0, region.segment(), length, payload.length);
                    length += payload.length;
                    last = next;
                    if ((next.flags() & Opcode.ENDS_MESSAGE) != 0) {
                        break;
                    }
                }
            }
            request.opcode(opcode(last));
        }
        request.setSge(region, 0, length);
        if ((first.flags() & Opcode.HAS_RETH) != 0) {
            request.remote(first.packet().address(), first.packet().rkey());
        }
        if (request.opcode() == WorkOpcode.SEND_WITH_INVALIDATE) {
            request.invalidateRkey(last.invalidatedRkey());
        }
        return request;
    }

    private static WorkOpcode opcode(Captured last) {
        if ((last.flags() & Opcode.WRITE) != 0) {
            return WorkOpcode.RDMA_WRITE;
        }
        return (last.flags() & Opcode.HAS_IETH) != 0 ? WorkOpcode.SEND_WITH_INVALIDATE : WorkOpcode.SEND;
    }
}

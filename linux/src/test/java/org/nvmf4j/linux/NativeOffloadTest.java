package org.nvmf4j.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Segmentation and coalescing, which only the native socket has. */
@Timeout(60)
class NativeOffloadTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final UdpOptions OPTIONS =
            UdpOptions.defaults().withImplementation(UdpOptions.Implementation.NATIVE);

    private final List<UdpSocket> sockets = new ArrayList<>();

    @SuppressWarnings("NullAway.Init")
    private Arena arena;

    @BeforeEach
    @SuppressWarnings("MustBeClosedChecker") // close() closes it
    void open() {
        arena = Arena.ofConfined();
    }

    @AfterEach
    void close() {
        sockets.forEach(UdpSocket::close);
        arena.close();
    }

    private UdpSocket socket(UdpOptions options) throws IOException {
        UdpSocket socket = UdpSocket.open(LOOPBACK, 0, options);
        sockets.add(socket);
        return socket;
    }

    private TransmitQueue queue(UdpSocket socket, int messages, int pieces) {
        return socket.newTransmitQueue(arena, messages, pieces, (peer, datagrams, bytes, errno) -> {
            throw new AssertionError("refused: " + SystemErrors.describe(errno));
        });
    }

    private MemorySegment pattern(int bytes) {
        MemorySegment memory = arena.allocate(bytes, 64);
        for (int i = 0; i < bytes; i++) {
            memory.set(ValueLayout.JAVA_BYTE, i, (byte) (i * 7 + (i >> 10)));
        }
        return memory;
    }

    @Test
    void joinsEqualDatagramsToOnePeer() throws IOException {
        UdpSocket sender = socket(OPTIONS);
        assumeTrue(sender.maxSegments() > 1, "the kernel has no UDP segmentation");
        UdpPeer peer = UdpPeer.of(socket(OPTIONS).localAddress());
        UdpPeer samePeerOfAnotherFlow = UdpPeer.of(peer.socketAddress());
        MemorySegment memory = pattern(4096);
        TransmitQueue queue = queue(sender, 16, 16);
        assertThat(add(queue, peer, memory, 100)).isZero();
        assertThat(add(queue, peer, memory, 100)).isEqualTo(1);
        assertThat(add(queue, peer, memory, 100)).isEqualTo(2);
        assertThat(add(queue, peer, memory, 60)).as("the last may be shorter").isEqualTo(3);
        assertThat(add(queue, peer, memory, 60)).as("after a shorter one").isZero();
        assertThat(add(queue, peer, memory, 61)).as("a longer one").isZero();
        assertThat(add(queue, samePeerOfAnotherFlow, memory, 61)).isZero();
        queue.seal();
        assertThat(add(queue, samePeerOfAnotherFlow, memory, 61))
                .as("after seal")
                .isZero();
        assertThat(queue.pendingMessages()).isEqualTo(5);
        assertThat(queue.flush()).isEqualTo(5);
        assertThat(queue.sendCalls()).isEqualTo(1);
        assertThat(queue.sentMessages()).isEqualTo(5);
        assertThat(queue.sentDatagrams()).isEqualTo(8);
        assertThat(add(queue, samePeerOfAnotherFlow, memory, 61))
                .as("after flush")
                .isZero();
    }

    private static int add(TransmitQueue queue, UdpPeer peer, MemorySegment memory, int length) {
        int index = queue.begin(peer, length);
        queue.append(memory, 0, length);
        return index;
    }

    @Test
    void endsMessageAtTheKernelsLimits() throws IOException {
        UdpSocket sender = socket(OPTIONS);
        assumeTrue(sender.maxSegments() > 1, "the kernel has no UDP segmentation");
        UdpSocket receiver = socket(OPTIONS);
        UdpPeer peer = UdpPeer.of(receiver.localAddress());
        MemorySegment memory = pattern(1 << 16);
        TransmitQueue queue = queue(sender, 64, 4096);
        List<byte[]> expected = new ArrayList<>();
        List<Integer> messageStarts = new ArrayList<>();
        int count = 0;
        // By number of datagrams, by bytes, and by pieces.
        int[][] runs = {{10, 1, 130}, {4124, 1, 32}, {64, 16, 130}};
        for (int[] run : runs) {
            for (int i = 0; i < run[2]; i++) {
                if (queue.begin(peer, run[0]) == 0) {
                    messageStarts.add(count);
                }
                for (int piece = 0; piece < run[1]; piece++) {
                    int length = run[0] / run[1];
                    queue.append(memory, i * 100 + piece * length, length);
                }
                expected.add(UdpSocketContract.bytes(memory, i * 100L, run[0]));
                count++;
            }
            queue.seal();
        }
        assertThat(messageStarts).containsExactly(0, 64, 128, 130, 145, 160, 162, 226, 290);
        queue.flush();
        assertThat(queue.isEmpty()).isTrue();
        assertThat(UdpSocketContract.receive(receiver.newReceiveBatch(arena, 4), expected.size()))
                .containsExactlyElementsOf(expected);
    }

    @Test
    void coalescesRunIntoOneSlot() throws IOException {
        UdpSocket sender = socket(OPTIONS);
        UdpSocket receiver = socket(OPTIONS);
        assumeTrue(sender.maxSegments() > 1 && receiver.coalesces(), "the kernel has no UDP offloads");
        MemorySegment memory = pattern(16 * 4096);
        TransmitQueue queue = queue(sender, 1, 64);
        UdpPeer peer = UdpPeer.of(receiver.localAddress());
        for (int i = 0; i < 14; i++) {
            queue.begin(peer, 4096);
            queue.append(memory, i * 4096L, 4096);
        }
        queue.begin(peer, 1000);
        queue.append(memory, 14 * 4096L, 1000);
        queue.flush();
        ReceiveBatch batch = receiver.newReceiveBatch(arena, 2);
        while (batch.receive() == 0) {
            UdpSocketContract.pause("a run of datagrams");
        }
        assertThat(batch.lengthBytes(0)).isEqualTo(14 * 4096 + 1000);
        assertThat(batch.segmentBytes(0)).isEqualTo(4096);
        assertThat(UdpSocketContract.bytes(batch.buffer(), batch.offset(0), 14 * 4096 + 1000))
                .isEqualTo(UdpSocketContract.bytes(memory, 0, 14 * 4096 + 1000));
    }

    @Test
    void receiverWithoutCoalescingGetsSingleDatagrams() throws IOException {
        UdpSocket sender = socket(OPTIONS);
        UdpSocket receiver = socket(OPTIONS.withCoalescing(false));
        assertThat(receiver.coalesces()).isFalse();
        MemorySegment memory = pattern(20_000);
        TransmitQueue queue = queue(sender, 16, 16);
        List<byte[]> expected = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            add(queue, UdpPeer.of(receiver.localAddress()), memory, 1500);
            expected.add(UdpSocketContract.bytes(memory, 0, 1500));
        }
        queue.flush();
        ReceiveBatch batch = receiver.newReceiveBatch(arena, 3);
        assertThat(UdpSocketContract.receive(batch, 10)).containsExactlyElementsOf(expected);
    }

    @Test
    void sendsSingleDatagramsWithoutSegmentation() throws IOException {
        UdpSocket sender = socket(OPTIONS.withSegmentation(false));
        assertThat(sender.maxSegments()).isEqualTo(1);
        assertNoJoining(sender);
    }

    @Test
    void stopsJoiningWhenTheKernelCannotSegment() throws IOException {
        NativeUdpSocket sender = (NativeUdpSocket) socket(OPTIONS);
        sender.giveUpSegmentation();
        assertThat(sender.maxSegments()).isEqualTo(1);
        assertThat(sender.description()).contains("segmentation off");
        assertNoJoining(sender);
    }

    private void assertNoJoining(UdpSocket sender) throws IOException {
        UdpSocket receiver = socket(OPTIONS);
        UdpPeer peer = UdpPeer.of(receiver.localAddress());
        MemorySegment memory = pattern(100);
        TransmitQueue queue = queue(sender, 4, 4);
        for (int i = 0; i < 4; i++) {
            assertThat(add(queue, peer, memory, 100)).isZero();
        }
        assertThat(queue.flush()).isEqualTo(4);
        assertThat(queue.sendCalls()).isEqualTo(1);
        assertThat(UdpSocketContract.receive(receiver.newReceiveBatch(arena, 4), 4))
                .hasSize(4);
    }

    @Test
    void countsDatagramsDroppedForLackOfRoom() throws IOException {
        UdpSocket sender = socket(OPTIONS);
        UdpSocket receiver = socket(OPTIONS.withReceiveBufferBytes(4096));
        MemorySegment memory = pattern(1500);
        TransmitQueue queue = queue(sender, 1, 1);
        UdpPeer peer = UdpPeer.of(receiver.localAddress());
        assertThat(receiver.receiveDrops()).isZero();
        // Loopback delivers within the call, so what does not fit is dropped when the call returns.
        for (int i = 0; i < 1000 && receiver.receiveDrops() == 0; i++) {
            add(queue, peer, memory, 1500);
            queue.flush();
        }
        assertThat(receiver.receiveDrops()).isPositive();
    }

    @Test
    void acceptsIpv6DatagramWithoutChecksum() throws IOException {
        Ipv6.assumeAvailable();
        try (UdpSocket receiver = UdpSocket.open(Ipv6.LOOPBACK, 0, OPTIONS);
                UdpSocket sender = UdpSocket.open(Ipv6.LOOPBACK, 0, OPTIONS.withSegmentation(false))) {
            MemorySegment on = arena.allocate(4, 4);
            on.set(ValueLayout.JAVA_INT, 0, 1);
            int udpNoCheck6Tx = 101;
            int result = LibC.setsockopt(
                    LibC.newErrnoState(), ((NativeUdpSocket) sender).fd(), 17, udpNoCheck6Tx, on.address(), 4);
            assertThat(result).isZero();
            TransmitQueue queue = queue(sender, 1, 1);
            add(queue, UdpPeer.of(receiver.localAddress()), pattern(10), 10);
            queue.flush();
            assertThat(UdpSocketContract.receive(receiver.newReceiveBatch(arena, 1), 1))
                    .hasSize(1);
        }
    }
}

package org.nvmf4j.softroce;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nvmf4j.linux.TransmitQueue;
import org.nvmf4j.linux.UdpOptions;
import org.nvmf4j.linux.UdpPeer;
import org.nvmf4j.linux.UdpSocket;
import org.nvmf4j.roce.wire.Aeth;
import org.nvmf4j.roce.wire.Bth;
import org.nvmf4j.roce.wire.GsiPacket;
import org.nvmf4j.roce.wire.Icrc;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.roce.wire.RocePacket;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.VerbsException;

/** What a device does with packets that no peer should send: it counts them, drops them and lives on. */
class ReceiverTest {
    private static final int ACK_BYTES = Bth.LENGTH + Aeth.LENGTH + RocePacket.ICRC_BYTES;

    private final Arena arena = Arena.ofConfined();
    private final MemorySegment m = arena.allocate(8192, 8);
    private final InetAddress address = Pair.randomLoopbackAddress();
    private final UdpPeer peer = UdpPeer.of(address, RocePacket.UDP_PORT);
    private final Pair pair;
    private final Side target;
    private final Side host;
    private UdpSocket socket;
    private TransmitQueue queue;
    private Icrc icrc;

    ReceiverTest() throws IOException {
        pair = Pair.open(
                new SoftRoceProvider(),
                DeviceOptions.at(address).withVectors(2),
                DeviceOptions.towards(address).withVectors(2));
        target = pair.side(pair.target, 0);
        host = pair.side(pair.host, 0);
        pair.connectAndWait(host, target);
        socket = openAt(pair.host.attributes().localAddress());
        queue = socket.newTransmitQueue(arena, 16, 64, (to, datagrams, bytes, errno) -> {});
        icrc = new Icrc(pair.host.attributes().localAddress(), address);
    }

    private static UdpSocket openAt(InetAddress local) throws IOException {
        return UdpSocket.open(local, 0, UdpOptions.defaults());
    }

    @BeforeEach
    void isQuiet() {
        assertThat(target.counter(Counter.DROPPED_ICRC)).isZero();
    }

    /** Whatever came, the connection still works. */
    @AfterEach
    void close() throws VerbsException {
        target.receive(4096, 100);
        int received = target.received;
        host.send(0, 100);
        pair.await("a message", () -> target.received > received);
        pair.close();
        socket.close();
        arena.close();
    }

    private void sendFrom(InetAddress source) throws IOException {
        socket.close();
        socket = openAt(source);
        queue = socket.newTransmitQueue(arena, 16, 64, (to, datagrams, bytes, errno) -> {});
        icrc = new Icrc(source, address);
    }

    /** An ACK of nothing in particular, with its ICRC. */
    private void writeAck(long offset, int qpn, int ipv4Id) {
        Bth.write(m, offset, Opcode.RC_ACKNOWLEDGE, 0, 0, qpn, false, 0x123456);
        m.set(ValueLayout.JAVA_INT_UNALIGNED, offset + Bth.LENGTH, 0x1F);
        sign(offset, ACK_BYTES, ipv4Id);
    }

    private void sign(long offset, int bytes, int ipv4Id) {
        int covered = bytes - RocePacket.ICRC_BYTES;
        int value = icrc.compute(socket.localAddress().getPort(), ipv4Id, m.asByteBuffer(), (int) offset, covered);
        Icrc.put(m, offset + covered, value);
    }

    private void send(long offset, int bytes) throws IOException {
        queue.begin(peer, bytes);
        queue.append(m, offset, bytes);
    }

    private void sendAlone(int bytes) throws IOException {
        send(0, bytes);
        queue.flush();
    }

    @Test
    void takesPacketOfThePeer() throws IOException {
        long before = target.counter(Counter.ACKS_RECEIVED);
        writeAck(0, target.queuePair.number(), 0);
        sendAlone(ACK_BYTES);
        pair.awaitCounter(pair.target, Counter.ACKS_RECEIVED, before + 1);
    }

    @Test
    void takesPacketOfUnknownIdentification() throws IOException {
        long before = target.counter(Counter.ACKS_RECEIVED);
        writeAck(0, target.queuePair.number(), 0xBEEF);
        sendAlone(ACK_BYTES);
        pair.awaitCounter(pair.target, Counter.ACKS_RECEIVED, before + 1);
    }

    @Test
    void dropsPacketWithBadIcrc() throws IOException {
        writeAck(0, target.queuePair.number(), 0);
        m.set(ValueLayout.JAVA_BYTE, 11, (byte) 0x57);
        sendAlone(ACK_BYTES);
        pair.awaitCounter(pair.target, Counter.DROPPED_ICRC, 1);
    }

    @Test
    void dropsPacketOfAnotherAddress() throws IOException {
        sendFrom(Pair.randomLoopbackAddress());
        writeAck(0, target.queuePair.number(), 0);
        sendAlone(ACK_BYTES);
        pair.awaitCounter(pair.target, Counter.DROPPED_SOURCE, 1);
    }

    @Test
    void dropsPacketForNobody() throws IOException {
        int unknown = target.queuePair.number() ^ 4; // of the same vector
        writeAck(0, unknown, 0);
        sendAlone(ACK_BYTES);
        pair.awaitCounter(pair.target, Counter.DROPPED_QUEUE_PAIR, 1);
    }

    @Test
    void dropsPacketForQueuePairThatIsNotConnected() throws IOException {
        Side idle = pair.side(pair.target, 0);
        writeAck(0, idle.queuePair.number(), 0);
        sendAlone(ACK_BYTES);
        pair.awaitCounter(pair.target, Counter.DROPPED_QUEUE_PAIR, 1);
    }

    @Test
    void dropsWhatHasNotTheFormOfAPacket() throws IOException {
        sendAlone(1);
        sendAlone(11);
        sendAlone(18);
        pair.awaitCounter(pair.target, Counter.DROPPED_LENGTH, 3);
        writeAck(0, target.queuePair.number(), 0);
        m.set(ValueLayout.JAVA_BYTE, 0, (byte) 0x1F);
        sendAlone(ACK_BYTES);
        pair.awaitCounter(pair.target, Counter.DROPPED_OPCODE, 1);
        writeAck(0, target.queuePair.number(), 0);
        m.set(ValueLayout.JAVA_BYTE, 1, (byte) 3);
        sendAlone(ACK_BYTES);
        pair.awaitCounter(pair.target, Counter.DROPPED_VERSION, 1);
    }

    @Test
    void dropsBadManagementDatagrams() throws IOException {
        writeAck(0, GsiPacket.QPN, 0);
        sendAlone(ACK_BYTES);
        pair.awaitCounter(pair.target, Counter.DROPPED_MAD, 1);
        GsiPacket.writeHeaders(m, 0, 0);
        sendAlone(GsiPacket.LENGTH);
        pair.awaitCounter(pair.target, Counter.DROPPED_ICRC, 1);
        sign(0, GsiPacket.LENGTH, 0);
        sendAlone(GsiPacket.LENGTH);
        pair.awaitCounter(pair.target, Counter.DROPPED_CM_MESSAGE, 1);
    }

    @Test
    void survivesNoise() throws IOException {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        long before = target.counter(Counter.PACKETS_RECEIVED);
        int sent = 0;
        for (int i = 0; i < 2000; i++) {
            for (int at = 0; at < 512; at++) {
                m.set(ValueLayout.JAVA_BYTE, at, (byte) random.nextInt());
            }
            int bytes = random.nextBoolean() ? random.nextInt(1, 512) : 4 * random.nextInt(4, 100);
            if (random.nextBoolean()) {
                m.set(ValueLayout.JAVA_BYTE, 0, (byte) random.nextInt(0x20));
                m.set(ValueLayout.JAVA_BYTE, 1, (byte) 0);
                m.set(ValueLayout.JAVA_INT_UNALIGNED, 4, Integer.reverseBytes(target.queuePair.number()));
                if (bytes >= RocePacket.MIN_BYTES && random.nextInt(10) > 0) {
                    Bth.setPsn(m, 0, random.nextInt(1 << 24) | 0x80_0000);
                }
            }
            queue.seal();
            sendAlone(bytes);
            sent++;
            pair.turn();
        }
        long all = before + sent;
        pair.await("all noise, seed " + seed, () -> target.counter(Counter.PACKETS_RECEIVED) >= all);
        assertThat(target.events).as("seed %d", seed).containsExactly("established");
    }

    @Test
    void passesOnJoinedPacketsOfAnotherVector() throws IOException {
        Side other = pair.side(pair.target, 1);
        pair.connectAndWait(pair.side(pair.host, 1), other);
        long before = other.counter(Counter.ACKS_RECEIVED);
        // The kernel joins them again at the receiver, and steers both by the first.
        writeAck(0, target.queuePair.number(), 0);
        writeAck(100, other.queuePair.number(), 1);
        send(0, ACK_BYTES);
        send(100, ACK_BYTES);
        queue.flush();
        pair.awaitCounter(pair.target, Counter.ACKS_RECEIVED, before + 2);
        if (socket.maxSegments() > 1 && socket.coalesces()) {
            assertThat(target.counter(Counter.HANDED_OVER)).isEqualTo(1);
        }
    }
}

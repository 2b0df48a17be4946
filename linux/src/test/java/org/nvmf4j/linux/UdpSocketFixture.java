package org.nvmf4j.linux;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Two sockets of the loopback interface, and memory to send from. */
abstract class UdpSocketFixture {
    static final int MEMORY_BYTES = 1 << 20;
    static final long LONG_NANOS = 30_000_000_000L;

    final UdpOptions options = UdpOptions.defaults().withImplementation(implementation());
    final List<String> refused = new ArrayList<>();
    Arena arena = Arena.global();
    UdpSocket sender = none();
    UdpSocket receiver = none();
    MemorySegment memory = MemorySegment.NULL;

    @SuppressWarnings("NullAway") // set before each test
    static UdpSocket none() {
        return null;
    }

    abstract UdpOptions.Implementation implementation();

    abstract InetAddress loopback();

    @BeforeEach
    @SuppressWarnings("MustBeClosedChecker") // close() closes it
    void open() throws IOException {
        arena = Arena.ofConfined();
        memory = arena.allocate(MEMORY_BYTES, 64);
        for (int i = 0; i < MEMORY_BYTES; i++) {
            memory.set(ValueLayout.JAVA_BYTE, i, (byte) (i * 31 + (i >> 8)));
        }
        sender = UdpSocket.open(loopback(), 0, options);
        receiver = UdpSocket.open(loopback(), 0, options);
    }

    @AfterEach
    void close() {
        sender.close();
        receiver.close();
        arena.close();
    }

    final TransmitQueue newQueue(int messages, int pieces) {
        return sender.newTransmitQueue(
                arena,
                messages,
                pieces,
                (peer, datagrams, bytes, errno) ->
                        refused.add(peer + " " + datagrams + "x" + bytes + " " + SystemErrors.name(errno)));
    }

    final UdpPeer receiverPeer() {
        return UdpPeer.of(receiver.localAddress());
    }

    /** Datagrams until so many have come; the test's time limit catches those that never do. */
    static List<byte[]> receive(ReceiveBatch batch, int datagrams) throws IOException {
        List<byte[]> received = new ArrayList<>();
        while (received.size() < datagrams) {
            int filled = batch.receive();
            for (int slot = 0; slot < filled; slot++) {
                addDatagrams(batch, slot, received);
            }
            pause("datagrams, only " + received.size() + " have come");
        }
        return received;
    }

    /** For loops that wait: lets the test's time limit, which interrupts, end them. */
    static void pause(String expected) {
        if (Thread.currentThread().isInterrupted()) {
            throw new AssertionError("still waiting for " + expected);
        }
        Thread.onSpinWait();
    }

    private static void addDatagrams(ReceiveBatch batch, int slot, List<byte[]> received) {
        int length = batch.lengthBytes(slot);
        int stride = Math.max(1, batch.segmentBytes(slot));
        for (int at = 0; at < length; at += stride) {
            received.add(bytes(batch.buffer(), batch.offset(slot) + at, Math.min(stride, length - at)));
        }
    }

    static byte[] bytes(MemorySegment from, long offset, int length) {
        return from.asSlice(offset, length).toArray(ValueLayout.JAVA_BYTE);
    }

    final void queueDatagram(TransmitQueue queue, UdpPeer peer, long offset, int length) {
        queue.begin(peer, length);
        queue.append(memory, offset, length);
    }
}

package org.nvmf4j.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What every implementation of a socket does, on real sockets of the loopback interface. */
@Timeout(60)
abstract class UdpSocketContract extends UdpSocketFixture {
    @Test
    void deliversDatagramWithItsSource() throws IOException {
        TransmitQueue queue = newQueue(4, 4);
        queueDatagram(queue, receiverPeer(), 100, 64);
        assertThat(queue.pendingMessages()).isEqualTo(1);
        assertThat(queue.flush()).isEqualTo(1);
        assertThat(queue.isEmpty()).isTrue();

        ReceiveBatch batch = receiver.newReceiveBatch(arena, 4);
        while (batch.receive() == 0) {
            pause("a datagram");
        }
        assertThat(batch.lengthBytes(0)).isEqualTo(64);
        assertThat(batch.segmentBytes(0)).isEqualTo(64);
        assertThat(bytes(batch.buffer(), batch.offset(0), 64)).isEqualTo(bytes(memory, 100, 64));
        UdpPeer source = UdpPeer.of(sender.localAddress());
        assertThat(batch.isFrom(source, 0)).isTrue();
        assertThat(batch.isFrom(receiverPeer(), 0)).isFalse();
        assertThat(batch.source(0)).isEqualTo(source);
        assertThat(batch.receive()).isZero();
    }

    @Test
    void gathersPieces() throws IOException {
        TransmitQueue queue = newQueue(4, 16);
        queue.begin(receiverPeer(), 12 + 4096 + 4);
        queue.append(memory, 0, 12);
        queue.append(memory, 5000, 4096);
        queue.append(memory, 20, 4);
        queue.flush();

        byte[] expected = new byte[12 + 4096 + 4];
        System.arraycopy(bytes(memory, 0, 12), 0, expected, 0, 12);
        System.arraycopy(bytes(memory, 5000, 4096), 0, expected, 12, 4096);
        System.arraycopy(bytes(memory, 20, 4), 0, expected, 12 + 4096, 4);
        assertThat(receive(receiver.newReceiveBatch(arena, 2), 1)).containsExactly(expected);
    }

    @Test
    void deliversBatchInOrder() throws IOException {
        TransmitQueue queue = newQueue(64, 64);
        List<byte[]> expected = new ArrayList<>();
        for (int i = 0; i < 64; i++) {
            int length = 40 + i % 7;
            queueDatagram(queue, receiverPeer(), i * 100L, length);
            expected.add(bytes(memory, i * 100L, length));
        }
        queue.flush();
        assertThat(receive(receiver.newReceiveBatch(arena, 8), 64)).containsExactlyElementsOf(expected);
        assertThat(queue.sentDatagrams()).isEqualTo(64);
    }

    @Test
    void sendsRunsOfEqualDatagramsUnchanged() throws IOException {
        TransmitQueue queue = newQueue(256, 512);
        List<byte[]> expected = new ArrayList<>();
        int[] lengths = {1000, 1000, 1000, 400, 1000, 1000, 2000, 4124, 4124, 4124};
        // As many as even a small receive buffer takes: 212,992 bytes are Linux's default for ordinary users.
        int count = 60;
        for (int i = 0; i < count; i++) {
            int length = lengths[i % lengths.length];
            queueDatagram(queue, receiverPeer(), i * 4000L, length);
            expected.add(bytes(memory, i * 4000L, length));
        }
        while (!queue.isEmpty()) {
            queue.flush();
        }
        assertThat(receive(receiver.newReceiveBatch(arena, 16), count)).containsExactlyElementsOf(expected);
    }

    @Test
    void returnsToFrontWhenAllIsSent() throws IOException {
        TransmitQueue queue = newQueue(2, 2);
        ReceiveBatch batch = receiver.newReceiveBatch(arena, 2);
        for (int i = 0; i < 5; i++) {
            assertThat(queue.hasRoom(2, 2)).isTrue();
            assertThat(queue.hasRoom(3, 2)).isFalse();
            assertThat(queue.hasRoom(2, 3)).isFalse();
            queueDatagram(queue, receiverPeer(), 0, 10);
            queueDatagram(queue, receiverPeer(), 0, 20);
            assertThat(queue.hasRoom(0, 1)).isFalse();
            queue.flush();
            assertThat(receive(batch, 2)).containsExactly(bytes(memory, 0, 10), bytes(memory, 0, 20));
        }
    }

    @Test
    void tellsIndexBeforeDatagramBegins() {
        TransmitQueue queue = newQueue(8, 8);
        for (int i = 0; i < 4; i++) {
            int told = queue.nextIndex(receiverPeer(), 100);
            assertThat(queue.begin(receiverPeer(), 100)).isEqualTo(told);
            queue.append(memory, 0, 100);
        }
        assertThat(queue.nextIndex(receiverPeer(), 101)).isZero();
    }

    @Test
    void discardsWhatWaitsAndGoesOn() throws IOException {
        TransmitQueue queue = newQueue(2, 4);
        queueDatagram(queue, receiverPeer(), 0, 50);
        queue.begin(receiverPeer(), 100);
        queue.append(memory, 0, 60);
        queue.discard();
        assertThat(queue.isEmpty()).isTrue();
        queueDatagram(queue, receiverPeer(), 7, 64);
        assertThat(queue.flush()).isEqualTo(1);
        assertThat(receive(receiver.newReceiveBatch(arena, 4), 1)).containsExactly(bytes(memory, 7, 64));
    }

    @Test
    void answersToManySources() throws IOException {
        List<UdpSocket> others = new ArrayList<>();
        try {
            for (int i = 0; i < 5; i++) {
                UdpSocket other = UdpSocket.open(loopback(), 0, options);
                others.add(other);
                TransmitQueue queue = other.newTransmitQueue(arena, 1, 1, (peer, n, bytes, errno) -> {});
                queue.begin(receiverPeer(), 8 + i);
                queue.append(memory, 0, 8 + i);
                queue.flush();
            }
            ReceiveBatch batch = receiver.newReceiveBatch(arena, 3);
            List<String> seen = new ArrayList<>();
            while (seen.size() < 5) {
                int filled = batch.receive();
                pause("datagrams of five senders");
                for (int slot = 0; slot < filled; slot++) {
                    seen.add(batch.source(slot) + " " + batch.lengthBytes(slot));
                }
            }
            for (int i = 0; i < 5; i++) {
                assertThat(seen).contains(UdpPeer.of(others.get(i).localAddress()) + " " + (8 + i));
            }
        } finally {
            others.forEach(UdpSocket::close);
        }
    }

    @Test
    void reportsDatagramLongerThanThePath() throws IOException {
        // On the usual loopback MTU of 65536 the longest datagram passes with IPv4's header and not with IPv6's.
        UdpPeer peer = receiverPeer();
        boolean passes = 65_507 + 8 + (peer.isIpv4() ? 20 : 40) <= NetworkRoutes.mtuBytes(loopback());
        TransmitQueue queue = newQueue(4, 4);
        queueDatagram(queue, peer, 0, 65_507);
        queueDatagram(queue, peer, 0, 10);
        assertThat(queue.flush()).isEqualTo(passes ? 2 : 1);
        assertThat(queue.isEmpty()).isTrue();
        List<byte[]> received = receive(receiver.newReceiveBatch(arena, 4), passes ? 2 : 1);
        assertThat(received.getLast()).isEqualTo(bytes(memory, 0, 10));
        assertThat(refused).isEqualTo(passes ? List.of() : List.of(peer + " 1x65507 EMSGSIZE"));
    }

    @Test
    void ignoresThatNobodyListens() throws IOException {
        UdpPeer nobody = receiverPeer();
        receiver.close();
        TransmitQueue queue = newQueue(4, 4);
        ReceiveBatch batch = sender.newReceiveBatch(arena, 4);
        for (int i = 0; i < 3; i++) {
            queueDatagram(queue, nobody, 0, 10);
            assertThat(queue.flush()).isEqualTo(1);
            assertThat(batch.receive()).isZero();
        }
        assertThat(refused).isEmpty();
    }

    @Test
    void waitEndsWhenDatagramArrives() throws IOException {
        TransmitQueue queue = newQueue(1, 1);
        ReceiveBatch batch = receiver.newReceiveBatch(arena, 1);
        try (UdpWaiter waiter = UdpWaiter.of(List.of(receiver))) {
            queueDatagram(queue, receiverPeer(), 0, 10);
            queue.flush();
            int filled;
            do {
                waiter.await(LONG_NANOS, false);
                filled = batch.receive();
            } while (filled == 0);
            assertThat(batch.lengthBytes(0)).isEqualTo(10);
        }
    }

    @Test
    void waitEndsWhenAnySocketIsWritable() throws IOException {
        try (UdpWaiter waiter = UdpWaiter.of(List.of(sender, receiver))) {
            waiter.await(LONG_NANOS, true);
            waiter.await(0, false);
            assertThat(receiver.newReceiveBatch(arena, 1).receive()).isZero();
        }
    }

    @Test
    void wakesSleeperFromAnotherThread() throws Exception {
        try (UdpWaiter waiter = UdpWaiter.of(List.of(receiver))) {
            for (int i = 0; i < 200; i++) {
                Thread waker = Thread.ofPlatform().start(waiter::wake);
                waiter.await(LONG_NANOS, false);
                waker.join();
                // A wake-up that came after a return without reason is used up here.
                waiter.await(0, false);
            }
        }
    }

    @Test
    void wakeBeforeWaitIsNotLost() throws IOException {
        try (UdpWaiter waiter = UdpWaiter.of(List.of(receiver))) {
            for (int i = 0; i < 3; i++) {
                waiter.wake();
                waiter.wake();
                waiter.await(LONG_NANOS, false);
            }
        }
    }

    @Test
    void waitEndsWhenTimeIsOver() throws IOException {
        try (UdpWaiter waiter = UdpWaiter.of(List.of(receiver))) {
            long start = System.nanoTime();
            waiter.await(2_000_000, false);
            waiter.await(0, false);
            assertThat(System.nanoTime() - start).isPositive();
        }
    }

    @Test
    void wakeAfterCloseDoesNothing() throws IOException {
        UdpWaiter waiter = UdpWaiter.of(List.of(receiver));
        waiter.close();
        waiter.close();
        waiter.wake();
        waiter.wake();
        assertThat(receiver.newReceiveBatch(arena, 1).receive()).isZero();
    }

    @Test
    void refusesMisuse() {
        TransmitQueue queue = newQueue(2, 2);
        UdpPeer peer = receiverPeer();
        assertThatThrownBy(() -> queue.append(memory, 0, 1)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> queue.begin(peer, 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> queue.begin(peer, 65_508)).isInstanceOf(IllegalArgumentException.class);
        UdpPeer otherFamily = peer.isIpv4() ? UdpPeer.of(1, 1, 1, 0) : UdpPeer.of(0, 0xffff_7f00_0001L, 1, 0);
        assertThatThrownBy(() -> queue.begin(otherFamily, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("cannot be reached");
        queue.begin(peer, 10);
        assertThatThrownBy(() -> queue.append(memory, 0, 11)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> queue.append(memory, MEMORY_BYTES - 9, 10))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> queue.append(memory, -1, 10)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> queue.append(memory, Long.MAX_VALUE, 10))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> queue.append(MemorySegment.ofArray(new byte[10]), 0, 10))
                .isInstanceOf(IllegalArgumentException.class);
        queue.append(memory, 0, 9);
        assertThatThrownBy(queue::flush).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> queue.begin(peer, 1)).isInstanceOf(IllegalStateException.class);
        queue.append(memory, 0, 1);
        assertThatThrownBy(() -> receiver.newReceiveBatch(arena, 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> newQueue(0, 1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> UdpSocket.open(loopback(), 70_000, options))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void failsAfterClose() throws IOException {
        TransmitQueue queue = newQueue(2, 2);
        ReceiveBatch batch = sender.newReceiveBatch(arena, 2);
        queueDatagram(queue, receiverPeer(), 0, 10);
        sender.close();
        sender.close();
        assertThatThrownBy(queue::flush).isInstanceOfAny(LinuxException.class, ClosedChannelException.class);
        assertThatThrownBy(batch::receive).isInstanceOfAny(LinuxException.class, ClosedChannelException.class);
    }

    @Test
    void saysWhoHasThePort() throws IOException {
        int port = receiver.localAddress().getPort();
        assertThatThrownBy(() -> UdpSocket.open(loopback(), port, options))
                .isInstanceOf(PortTakenException.class)
                .hasMessageContaining("UDP port " + port)
                .hasMessageContaining("process " + ProcessHandle.current().pid())
                .hasMessageContaining("another address");
    }

    @Test
    void saysThatAddressIsNotLocal() throws IOException {
        // Reserved and discard-only addresses, which no interface has.
        InetAddress foreign =
                InetAddress.ofLiteral(loopback() instanceof java.net.Inet4Address ? "240.0.0.1" : "100::1");
        assertThatThrownBy(() -> UdpSocket.open(foreign, 0, options))
                .isInstanceOf(LinuxException.class)
                .hasMessageContaining("no interface of this machine has the address")
                .hasMessageContaining("127.0.0.1");
    }

    @Test
    void tellsBufferSizes() throws IOException {
        try (UdpSocket small = UdpSocket.open(
                loopback(), 0, options.withReceiveBufferBytes(65_536).withSendBufferBytes(65_536))) {
            assertThat(small.receiveBufferBytes()).isBetween(65_536, 2 * 65_536);
            assertThat(small.sendBufferBytes()).isBetween(65_536, 2 * 65_536);
            assertThat(small.description()).contains(small.receiveBufferBytes() + " bytes");
        }
    }
}

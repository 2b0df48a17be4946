package org.nvmf4j.softroce;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nvmf4j.linux.ReceiveBatch;
import org.nvmf4j.linux.TransmitQueue;
import org.nvmf4j.linux.UdpOptions;
import org.nvmf4j.linux.UdpPeer;
import org.nvmf4j.linux.UdpSocket;
import org.nvmf4j.verbs.FaultOptions;

class FaultInjectorTest {
    private static final int BYTES = 64;

    private final Arena arena = Arena.ofConfined();
    private final SoftRoceStatistics statistics = new SoftRoceStatistics();
    private final MemorySegment packet = arena.allocate(BYTES);
    private final UdpSocket sender;
    private final UdpSocket receiver;
    private final TransmitQueue queue;
    private final UdpPeer peer;

    FaultInjectorTest() throws IOException {
        UdpOptions options = UdpOptions.defaults().withSegmentation(false).withCoalescing(false);
        sender = UdpSocket.open(InetAddress.ofLiteral("127.0.0.1"), 0, options);
        receiver = UdpSocket.open(InetAddress.ofLiteral("127.0.0.1"), 0, options);
        queue = sender.newTransmitQueue(arena, 1024, 1024, (to, datagrams, bytes, errno) -> {});
        peer = UdpPeer.of(receiver.localAddress());
    }

    @BeforeEach
    void fill() {
        for (int i = 0; i < BYTES; i++) {
            packet.set(ValueLayout.JAVA_BYTE, i, (byte) i);
        }
    }

    @AfterEach
    void close() {
        sender.close();
        receiver.close();
        arena.close();
    }

    private FaultInjector injector(double loss, double duplicate, double reorder, double corrupt) {
        return new FaultInjector(
                new FaultOptions(loss, duplicate, reorder, corrupt, 4711), 0, queue, statistics, arena);
    }

    /** Sends a packet marked with a number, as a batch of its own. */
    private void send(FaultInjector injector, int mark) throws IOException {
        injector.beginBatch();
        packet.set(ValueLayout.JAVA_BYTE, 0, (byte) mark);
        injector.send(peer, packet, 0, BYTES);
        queue.flush();
    }

    private void emptyBatch(FaultInjector injector) throws IOException {
        injector.beginBatch();
        queue.flush();
    }

    /** What has arrived: loopback delivers before the sending call returns. */
    private List<byte[]> arrived() throws IOException {
        List<byte[]> all = new ArrayList<>();
        ReceiveBatch batch = receiver.newReceiveBatch(arena, 64);
        for (int n = batch.receive(); n > 0; n = batch.receive()) {
            for (int slot = 0; slot < n; slot++) {
                all.add(batch.buffer()
                        .asSlice(batch.offset(slot), batch.lengthBytes(slot))
                        .toArray(ValueLayout.JAVA_BYTE));
            }
        }
        return all;
    }

    private List<Integer> marksArrived() throws IOException {
        return arrived().stream().map(bytes -> (int) bytes[0]).toList();
    }

    @Test
    void passesEverythingWithoutFaults() throws IOException {
        FaultInjector injector = injector(0, 0, 0, 0);
        send(injector, 1);
        send(injector, 2);
        assertThat(marksArrived()).containsExactly(1, 2);
    }

    @Test
    void losesPackets() throws IOException {
        FaultInjector injector = injector(1, 0, 0, 0);
        send(injector, 1);
        assertThat(arrived()).isEmpty();
        assertThat(statistics.get(Counter.FAULTS_LOST)).isEqualTo(1);
    }

    @Test
    void repeatsPackets() throws IOException {
        FaultInjector injector = injector(0, 1, 0, 0);
        send(injector, 1);
        send(injector, 2);
        assertThat(marksArrived()).containsExactly(1, 1, 2, 2);
        assertThat(statistics.get(Counter.FAULTS_DUPLICATED)).isEqualTo(2);
    }

    @Test
    void flipsOneBit() throws IOException {
        send(injector(0, 0, 0, 1), 1);
        byte[] bytes = arrived().getFirst();
        int flipped = 0;
        for (int i = 0; i < BYTES; i++) {
            int expected = i == 0 ? 1 : i;
            flipped += Integer.bitCount((bytes[i] ^ expected) & 0xFF);
        }
        assertThat(flipped).isEqualTo(1);
        assertThat(statistics.get(Counter.FAULTS_CORRUPTED)).isEqualTo(1);
    }

    @Test
    void letsTheNextPacketPass() throws IOException {
        FaultInjector injector = injector(0, 0, 1, 0);
        injector.beginBatch();
        for (int mark = 1; mark <= 4; mark++) {
            packet.set(ValueLayout.JAVA_BYTE, 0, (byte) mark);
            injector.send(peer, packet, 0, BYTES);
            queue.flush(); // so that one packet's memory can serve for all
        }
        assertThat(marksArrived()).containsExactly(2, 1, 4, 3);
        assertThat(statistics.get(Counter.FAULTS_REORDERED)).isEqualTo(2);
    }

    @Test
    void leavesAHeldPacketWholeUntilItHasGone() throws IOException {
        FaultInjector injector = injector(0, 0, 1, 0);
        MemorySegment batch = arena.allocate(4 * BYTES);
        injector.beginBatch();
        for (int mark = 1; mark <= 4; mark++) {
            batch.set(ValueLayout.JAVA_BYTE, (mark - 1L) * BYTES, (byte) mark);
            injector.send(peer, batch, (mark - 1L) * BYTES, BYTES);
        }
        queue.flush();
        assertThat(marksArrived()).containsExactlyInAnyOrder(1, 2, 3, 4);
    }

    @Test
    void doesNotHoldAPacketForEver() throws IOException {
        FaultInjector injector = injector(0, 0, 1, 0);
        send(injector, 1);
        assertThat(injector.isHolding()).isTrue();
        emptyBatch(injector);
        assertThat(marksArrived()).isEmpty();
        emptyBatch(injector);
        assertThat(marksArrived()).containsExactly(1);
        assertThat(injector.isHolding()).isFalse();
    }

    @Test
    void equalSeedsGiveEqualFaults() throws IOException {
        List<Integer> first = run(injector(0.2, 0.2, 0.2, 0));
        List<Integer> second = run(injector(0.2, 0.2, 0.2, 0));
        assertThat(second).isEqualTo(first);
        assertThat(first).hasSizeBetween(60, 140);
    }

    private List<Integer> run(FaultInjector injector) throws IOException {
        IntConsumer send = mark -> {
            try {
                send(injector, mark);
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        };
        for (int mark = 0; mark < 100; mark++) {
            send.accept(mark);
        }
        return marksArrived();
    }
}

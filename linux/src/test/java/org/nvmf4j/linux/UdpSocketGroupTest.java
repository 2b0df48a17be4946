package org.nvmf4j.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(60)
class UdpSocketGroupTest {
    private static final UdpOptions NATIVE = UdpOptions.defaults().withImplementation(UdpOptions.Implementation.NATIVE);
    private static final ValueLayout.OfInt BIG_INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    /** The low 24 bits of the second word, with 1 for the first socket. */
    private static final SteeringRule RULE = new SteeringRule(4, 0xff_ffff, 1);

    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");

    @ParameterizedTest
    @CsvSource({"2, 127.0.0.1", "4, 127.0.0.1", "4, ::1", "16, 127.0.0.1"})
    void steersByPayload(int count, String address) throws IOException {
        InetAddress local = InetAddress.ofLiteral(address);
        if (local.equals(Ipv6.LOOPBACK)) {
            Ipv6.assumeAvailable();
        }
        List<UdpSocket> group = UdpSocket.openGroup(local, 0, count, RULE, NATIVE);
        try (UdpSocket sender = UdpSocket.open(local, 0, NATIVE);
                Arena arena = Arena.ofConfined()) {
            assertThat(group).hasSize(count);
            UdpPeer peer = UdpPeer.of(group.getFirst().localAddress());
            int[] words = {0, 1, 2, 3, 5, 0x11_0001, 0xff_ffff, 0xff_fffe, 0xab00_0001, 0xff00_0006, 0x12_3455};
            List<List<Integer>> expected = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                expected.add(new ArrayList<>());
            }
            TransmitQueue queue = sender.newTransmitQueue(arena, 64, 64, (p, n, bytes, errno) -> {});
            MemorySegment memory = arena.allocate(words.length * 64L, 64);
            for (int i = 0; i < words.length; i++) {
                memory.set(BIG_INT, i * 64L + 4, words[i]);
                queue.begin(peer, 12);
                queue.append(memory, i * 64L, 12);
                queue.seal();
                int value = words[i] & 0xff_ffff;
                expected.get(value == 1 ? 0 : value % count).add(words[i]);
                assertThat(RULE.socketIndex(words[i], count)).isEqualTo(value == 1 ? 0 : value % count);
            }
            queue.flush();
            assertThat(received(arena, group, words.length)).isEqualTo(expected);
        } finally {
            group.forEach(UdpSocket::close);
        }
    }

    private static List<List<Integer>> received(Arena arena, List<UdpSocket> group, int total) throws IOException {
        List<List<Integer>> words = new ArrayList<>();
        List<ReceiveBatch> batches = new ArrayList<>();
        for (UdpSocket socket : group) {
            words.add(new ArrayList<>());
            batches.add(socket.newReceiveBatch(arena, 8));
        }
        int count = 0;
        while (count < total) {
            UdpSocketContract.pause(total + " datagrams, have " + words);
            for (int i = 0; i < group.size(); i++) {
                ReceiveBatch batch = batches.get(i);
                int filled = batch.receive();
                for (int slot = 0; slot < filled; slot++) {
                    words.get(i).add(batch.buffer().get(BIG_INT, batch.offset(slot) + 4));
                }
                count += filled;
            }
        }
        return words;
    }

    @Test
    void givesShortDatagramsToTheFirstSocket() throws IOException {
        List<UdpSocket> group = UdpSocket.openGroup(LOOPBACK, 0, 4, RULE, NATIVE);
        try (UdpSocket sender = UdpSocket.open(LOOPBACK, 0, NATIVE);
                Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(64);
            memory.fill((byte) 0xff);
            TransmitQueue queue = sender.newTransmitQueue(arena, 8, 8, (p, n, bytes, errno) -> {});
            for (int length = 1; length <= 7; length++) {
                queue.begin(UdpPeer.of(group.getFirst().localAddress()), length);
                queue.append(memory, 0, length);
                queue.seal();
            }
            queue.flush();
            ReceiveBatch batch = group.getFirst().newReceiveBatch(arena, 8);
            assertThat(UdpSocketContract.receive(batch, 7)).hasSize(7);
        } finally {
            group.forEach(UdpSocket::close);
        }
    }

    @Test
    void letsNobodyJoinTheGroup() throws IOException {
        List<UdpSocket> group = UdpSocket.openGroup(LOOPBACK, 0, 2, RULE, NATIVE);
        try {
            int port = group.getFirst().localAddress().getPort();
            assertThatThrownBy(() -> UdpSocket.openGroup(LOOPBACK, port, 2, RULE, NATIVE))
                    .isInstanceOf(PortTakenException.class)
                    .hasMessageContaining("process " + ProcessHandle.current().pid());
            assertThatThrownBy(() -> UdpSocket.open(LOOPBACK, port, NATIVE)).isInstanceOf(PortTakenException.class);
        } finally {
            group.forEach(UdpSocket::close);
        }
    }

    @Test
    void portableGroupIsOneSocket() throws IOException {
        UdpOptions portable = UdpOptions.defaults().withImplementation(UdpOptions.Implementation.PORTABLE);
        List<UdpSocket> group = UdpSocket.openGroup(LOOPBACK, 0, 4, RULE, portable);
        assertThat(group).hasSize(1);
        group.getFirst().close();
    }

    @ParameterizedTest
    @CsvSource({"0", "3", "512", "-2"})
    void refusesOddGroupSizes(int count) {
        assertThatThrownBy(() -> UdpSocket.openGroup(LOOPBACK, 0, count, RULE, NATIVE))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("power of two");
    }

    @ParameterizedTest
    @EnumSource(
            value = UdpOptions.Implementation.class,
            names = {"NATIVE", "PORTABLE"})
    void findsFreeLoopbackAddressesUnderContention(UdpOptions.Implementation implementation) throws Exception {
        UdpOptions options = UdpOptions.defaults().withImplementation(implementation);
        int seekers = 8;
        int port = freePort();
        CountDownLatch start = new CountDownLatch(seekers);
        List<UdpSocket> found = new ArrayList<>();
        try (ExecutorService threads = Executors.newFixedThreadPool(seekers)) {
            List<Future<List<UdpSocket>>> results = new ArrayList<>();
            for (int i = 0; i < seekers; i++) {
                Callable<List<UdpSocket>> seeker = () -> {
                    start.countDown();
                    start.await();
                    // The same seed for all, so that all want the same addresses.
                    return UdpSocket.openGroupOnFreeLoopbackAddress(port, 2, RULE, options, new Random(42));
                };
                results.add(threads.submit(seeker));
            }
            for (Future<List<UdpSocket>> result : results) {
                found.addAll(result.get());
            }
        }
        try {
            int each = implementation == UdpOptions.Implementation.NATIVE ? 2 : 1;
            List<InetSocketAddress> addresses =
                    found.stream().map(UdpSocket::localAddress).distinct().toList();
            assertThat(found).hasSize(seekers * each);
            assertThat(addresses).hasSize(seekers).allSatisfy(address -> {
                assertThat(address.getPort()).isEqualTo(port);
                assertThat(address.getAddress().isLoopbackAddress()).isTrue();
            });
        } finally {
            found.forEach(UdpSocket::close);
        }
    }

    @Test
    void saysWhoHoldsThePortOnAllAddresses() throws IOException {
        try (UdpSocket wildcard = UdpSocket.open(InetAddress.ofLiteral("0.0.0.0"), 0, NATIVE)) {
            int port = wildcard.localAddress().getPort();
            assertThatThrownBy(() -> UdpSocket.openGroupOnFreeLoopbackAddress(port, 1, RULE, NATIVE, new Random(1)))
                    .isInstanceOf(PortTakenException.class)
                    .hasMessageContaining("UDP port " + port)
                    .hasMessageContaining("on all addresses by process "
                            + ProcessHandle.current().pid());
        }
    }

    private static int freePort() throws IOException {
        try (UdpSocket probe = UdpSocket.open(LOOPBACK, 0, NATIVE)) {
            return probe.localAddress().getPort();
        }
    }
}

package org.nvmf4j.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What can be seen only on a network of our own: each check runs in a process with a network namespace. */
@Timeout(120)
class NetworkNamespaceTest {
    private static final List<String> NAMESPACE = List.of("unshare", "-rn");
    private static final InetAddress LOCAL = InetAddress.ofLiteral("10.1.0.1");
    private static final int PORT = 4791;

    @ParameterizedTest
    @CsvSource({
        "IDENTIFICATION, NATIVE",
        "IDENTIFICATION, PORTABLE",
        "BACK_PRESSURE, NATIVE",
        "BACK_PRESSURE, PORTABLE",
        "TOO_LONG, NATIVE",
        "TOO_LONG, PORTABLE",
        "ROUTES, NATIVE"
    })
    void holdsIn(Check check, UdpOptions.Implementation implementation) throws Exception {
        assumeTrue(succeeds("unshare", "-rn", "ip", "link", "show", "lo"), "no network namespaces here");
        ChildJvm.run(
                NAMESPACE,
                List.of("--enable-native-access=ALL-UNNAMED"),
                Checks.class,
                check.name(),
                implementation.name());
    }

    private static boolean succeeds(String... command) throws InterruptedException {
        try {
            return new ProcessBuilder(command)
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .redirectError(ProcessBuilder.Redirect.DISCARD)
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException e) {
            return false;
        }
    }

    enum Check {
        IDENTIFICATION,
        BACK_PRESSURE,
        TOO_LONG,
        ROUTES
    }

    /** The checks' side of the process boundary: v0 has the network 10.1.0.0/24; packets for it arrive at v1. */
    static final class Checks {
        private final UdpOptions options;
        private final Arena arena = Arena.global();
        private final MemorySegment memory = arena.allocate(1 << 16, 64);
        private final List<String> refused = new ArrayList<>();

        private Checks(UdpOptions options) {
            this.options = options;
            for (int i = 0; i < memory.byteSize(); i++) {
                memory.set(ValueLayout.JAVA_BYTE, i, (byte) (i >> 4));
            }
        }

        public static void main(String[] args) throws Exception {
            ip("link add v0 type veth peer name v1");
            ip("addr add 10.1.0.1/24 dev v0");
            ip("link set v0 gso_max_segs 1 up");
            // Java knows only interfaces with an address.
            ip("addr add 10.2.0.1/32 dev v1");
            ip("link set v1 up");
            ip("neigh add 10.1.0.2 lladdr 02:00:00:00:00:02 dev v0");
            Checks checks =
                    new Checks(UdpOptions.defaults().withImplementation(UdpOptions.Implementation.valueOf(args[1])));
            switch (Check.valueOf(args[0])) {
                case IDENTIFICATION -> checks.identification();
                case BACK_PRESSURE -> checks.backPressure();
                case TOO_LONG -> checks.tooLong();
                case ROUTES -> routes();
            }
        }

        private static void ip(String arguments) throws InterruptedException {
            List<String> command = new ArrayList<>(List.of("ip"));
            command.addAll(List.of(arguments.split(" ", -1)));
            assertThat(succeeds(command.toArray(String[]::new)))
                    .as("ip " + arguments)
                    .isTrue();
        }

        private TransmitQueue queue(UdpSocket socket) {
            return socket.newTransmitQueue(
                    arena,
                    64,
                    64,
                    (peer, datagrams, bytes, errno) ->
                            refused.add(datagrams + "x" + bytes + " " + SystemErrors.name(errno)));
        }

        private int add(TransmitQueue queue, UdpPeer peer, int offset, int length) {
            int index = queue.begin(peer, length);
            queue.append(memory, offset, length);
            return index;
        }

        /** Datagrams have the identification that begin() told, and the don't-fragment bit. */
        private void identification() throws Exception {
            UdpPeer peer = UdpPeer.of(InetAddress.ofLiteral("10.1.0.2"), PORT);
            try (UdpSocket socket = UdpSocket.open(LOCAL, PORT, options);
                    PacketTap tap = PacketTap.open("v1", PORT)) {
                TransmitQueue queue = queue(socket);
                List<String> expected = new ArrayList<>();
                int[] lengths = {100, 1000, 1000, 1000, 500, 64, 64, 64, 64, 200};
                for (int length : lengths) {
                    int index = add(queue, peer, 0, length);
                    expected.add("length " + length + " id " + index + " flags 4000");
                }
                queue.flush();
                assertThat(expected.contains("length 500 id 3 flags 4000")).isEqualTo(socket.maxSegments() > 1);
                List<String> seen = new ArrayList<>();
                for (int i = 0; i < lengths.length; i++) {
                    tap.next();
                    seen.add(String.format(
                            Locale.ROOT,
                            "length %d id %d flags %04x",
                            tap.payloadLength(),
                            tap.identification(),
                            tap.flags()));
                }
                assertThat(seen).isEqualTo(expected);
            }
        }

        /** A full send buffer leaves datagrams in the queue; they go, in order and once, when there is room again. */
        private void backPressure() throws Exception {
            // Until the neighbour's hardware address is known the kernel keeps datagrams, which fill the buffer.
            UdpPeer silent = UdpPeer.of(InetAddress.ofLiteral("10.1.0.3"), PORT);
            try (UdpSocket socket = UdpSocket.open(LOCAL, PORT, options.withSendBufferBytes(4096));
                    PacketTap tap = PacketTap.open("v1", PORT);
                    UdpWaiter waiter = UdpWaiter.of(List.of(socket))) {
                TransmitQueue queue = queue(socket);
                for (int i = 0; i < 20; i++) {
                    add(queue, silent, 16 * i, 1000);
                    queue.seal();
                }
                int sent = queue.flush();
                assertThat(sent).isBetween(1, 19);
                assertThat(queue.pendingMessages()).isEqualTo(20 - sent);
                assertThat(queue.flush()).isZero();
                ip("neigh replace 10.1.0.3 lladdr 02:00:00:00:00:03 dev v0");
                for (int i = 0; i < 20; i++) {
                    if (i >= queue.sentDatagrams()) {
                        waiter.await(10_000_000_000L, true);
                        queue.flush();
                    }
                    tap.next();
                    assertThat(tap.payloadByte(0)).isEqualTo(i);
                }
                assertThat(queue.isEmpty()).isTrue();
                assertThat(queue.sentDatagrams()).isEqualTo(20);
                assertThat(refused).isEmpty();
            }
        }

        /** What the interface does not carry is refused alone; what waits behind it goes. */
        private void tooLong() throws Exception {
            UdpPeer peer = UdpPeer.of(InetAddress.ofLiteral("10.1.0.2"), PORT);
            try (UdpSocket socket = UdpSocket.open(LOCAL, PORT, options);
                    PacketTap tap = PacketTap.open("v1", PORT)) {
                TransmitQueue queue = queue(socket);
                int[] lengths = {1472, 1473, 1471};
                for (int length : lengths) {
                    add(queue, peer, 0, length);
                    queue.seal();
                }
                assertThat(queue.flush()).isEqualTo(2);
                assertThat(queue.isEmpty()).isTrue();
                assertThat(refused).containsExactly("1x1473 EMSGSIZE");
                tap.next();
                assertThat(tap.payloadLength()).isEqualTo(1472);
                tap.next();
                assertThat(tap.payloadLength()).isEqualTo(1471);
                add(queue, peer, 0, 2000);
                add(queue, peer, 0, 2000);
                add(queue, peer, 0, 20);
                queue.flush();
                int tooLong = socket.maxSegments() > 1 ? 1 : 2;
                assertThat(refused).hasSize(1 + tooLong);
                assertThat(socket.maxSegments() > 1).isEqualTo(socket.isNative());
            }
        }

        private static void routes() throws Exception {
            assertThat(NetworkRoutes.sourceAddressFor(InetAddress.ofLiteral("10.1.0.77")))
                    .isEqualTo(LOCAL);
            assertThat(NetworkRoutes.mtuBytes(LOCAL)).isEqualTo(1500);
            assertThat(NetworkRoutes.interfaceOf(LOCAL).getName()).isEqualTo("v0");
            assertThat(NetworkRoutes.localAddresses()).contains(LOCAL);
            assertThatThrownBy(() -> NetworkRoutes.sourceAddressFor(InetAddress.ofLiteral("192.0.2.5")))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("no route to 192.0.2.5");
        }
    }
}

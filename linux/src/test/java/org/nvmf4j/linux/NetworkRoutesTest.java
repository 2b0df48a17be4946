package org.nvmf4j.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class NetworkRoutesTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");

    @Test
    void startsFromLoopbackToLoopback() throws IOException {
        assertThat(NetworkRoutes.sourceAddressFor(InetAddress.ofLiteral("127.9.8.7")))
                .isEqualTo(LOOPBACK);
    }

    @Test
    void knowsInterfaceOfEveryLoopbackAddress() throws IOException {
        String name = NetworkRoutes.interfaceOf(LOOPBACK).getName();
        assertThat(NetworkRoutes.interfaceOf(InetAddress.ofLiteral("127.200.100.50"))
                        .getName())
                .isEqualTo(name);
        assertThat(NetworkRoutes.mtuBytes(InetAddress.ofLiteral("127.200.100.50")))
                .isEqualTo(NetworkRoutes.interfaceOf(LOOPBACK).getMTU())
                .isPositive();
    }

    @Test
    void knowsIpv6Loopback() throws IOException {
        Ipv6.assumeAvailable();
        assertThat(NetworkRoutes.sourceAddressFor(Ipv6.LOOPBACK)).isEqualTo(Ipv6.LOOPBACK);
        assertThat(NetworkRoutes.interfaceOf(Ipv6.LOOPBACK)).isEqualTo(NetworkRoutes.interfaceOf(LOOPBACK));
    }

    /** Run with a JDK that is told to leave IPv6 alone. */
    static final class WithoutIpv6 {
        private WithoutIpv6() {}

        public static void main(String[] args) {
            UdpOptions portable = UdpOptions.defaults().withImplementation(UdpOptions.Implementation.PORTABLE);
            assertThatThrownBy(() -> NetworkRoutes.sourceAddressFor(Ipv6.LOOPBACK))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("no IPv6 for 0:0:0:0:0:0:0:1");
            assertThatThrownBy(() -> UdpSocket.open(Ipv6.LOOPBACK, 0, portable))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("no IPv6 for 0:0:0:0:0:0:0:1");
        }
    }

    @Test
    void saysThatThereIsNoIpv6() throws Exception {
        assertThat(ChildJvm.run(List.of(), List.of("-Djava.net.preferIPv4Stack=true"), WithoutIpv6.class))
                .isEmpty();
    }

    @Test
    void listsLocalAddresses() throws IOException {
        assertThat(NetworkRoutes.localAddresses()).contains(LOOPBACK);
    }

    @Test
    void choosesLoopbackAddressesThatEverySocketTakes() {
        Random random = new Random(1);
        for (int i = 0; i < 10_000; i++) {
            byte[] address = NetworkRoutes.randomLoopbackAddress(random).getAddress();
            assertThat(address[0]).isEqualTo((byte) 127);
            assertThat(address[1]).isNotEqualTo((byte) 0).isNotEqualTo((byte) 255);
            assertThat(address[3]).isNotEqualTo((byte) 0).isNotEqualTo((byte) 255);
        }
    }

    @Test
    void saysThatAddressIsNotLocal() {
        assertThatThrownBy(() -> NetworkRoutes.interfaceOf(InetAddress.ofLiteral("240.0.0.1")))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("240.0.0.1")
                .hasMessageContaining("127.0.0.1");
    }
}

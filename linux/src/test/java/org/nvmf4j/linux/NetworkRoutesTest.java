package org.nvmf4j.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.util.Random;
import org.junit.jupiter.api.Test;

class NetworkRoutesTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");

    @Test
    void startsFromLoopbackToLoopback() throws IOException {
        assertThat(NetworkRoutes.sourceAddressFor(InetAddress.ofLiteral("127.9.8.7")))
                .isEqualTo(LOOPBACK);
        assertThat(NetworkRoutes.sourceAddressFor(InetAddress.ofLiteral("::1")))
                .isEqualTo(InetAddress.ofLiteral("::1"));
    }

    @Test
    void knowsInterfaceOfEveryLoopbackAddress() throws IOException {
        String name = NetworkRoutes.interfaceOf(LOOPBACK).getName();
        assertThat(NetworkRoutes.interfaceOf(InetAddress.ofLiteral("127.200.100.50"))
                        .getName())
                .isEqualTo(name);
        assertThat(NetworkRoutes.interfaceOf(InetAddress.ofLiteral("::1")).getName())
                .isEqualTo(name);
        assertThat(NetworkRoutes.mtuBytes(InetAddress.ofLiteral("127.200.100.50")))
                .isEqualTo(NetworkRoutes.interfaceOf(LOOPBACK).getMTU())
                .isPositive();
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

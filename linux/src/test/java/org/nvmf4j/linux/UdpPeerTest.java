package org.nvmf4j.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class UdpPeerTest {
    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "10.255.3.200", "255.255.255.255", "::1", "2001:db8::ff:8000:1", "fe80::2"})
    void keepsAddress(String literal) {
        InetAddress address = InetAddress.ofLiteral(literal);
        UdpPeer peer = UdpPeer.of(address, 65_535);
        assertThat(peer.socketAddress()).isEqualTo(new InetSocketAddress(address, 65_535));
        assertThat(peer.isIpv4()).isEqualTo(!literal.contains(":"));
        UdpPeer again = UdpPeer.of(peer.addressHigh(), peer.addressLow(), peer.port(), peer.scopeId());
        assertThat(again).isEqualTo(peer).hasSameHashCodeAs(peer);
        assertThat(peer.matches(peer.addressHigh(), peer.addressLow(), 65_535)).isTrue();
        assertThat(peer.matches(peer.addressHigh(), peer.addressLow(), 65_534)).isFalse();
        assertThat(peer.matches(peer.addressHigh() + 1, peer.addressLow(), 65_535))
                .isFalse();
        assertThat(peer.matches(peer.addressHigh(), peer.addressLow() + 1, 65_535))
                .isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "10.255.3.200", "::1", "2001:db8::ff:8000:1", "fe80::8000:0:0:2"})
    void writesWhatTheKernelReads(String literal) {
        UdpPeer peer = UdpPeer.of(InetAddress.ofLiteral(literal), 40_000);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(64, 8).fill((byte) 0x55);
            SocketAddresses.write(memory, 32, peer);
            assertThat(SocketAddresses.read(memory, 32)).isEqualTo(peer);
        }
    }

    @Test
    void keepsScopeOfLinkLocalAddress() {
        UdpPeer peer = UdpPeer.of(0xfe80_0000_0000_0000L, 1, 4791, 3);
        assertThat(peer.scopeId()).isEqualTo(3);
        assertThat(peer).isNotEqualTo(UdpPeer.of(0xfe80_0000_0000_0000L, 1, 4791, 2));
        assertThat(UdpPeer.of(peer.socketAddress())).isEqualTo(peer);
        assertThat(peer).hasToString("[fe80::1%3]:4791");
    }

    @Test
    void readsAsAddressAndPort() {
        assertThat(UdpPeer.of(InetAddress.ofLiteral("10.1.2.3"), 4791)).hasToString("10.1.2.3:4791");
    }

    @Test
    void refusesWhatIsNoAddress() {
        assertThatThrownBy(() -> UdpPeer.of(0, 0, 65_536, 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> UdpPeer.of(0, 0, -1, 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> UdpPeer.of(InetSocketAddress.createUnresolved("nowhere", 1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("nowhere");
    }
}

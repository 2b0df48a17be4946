package org.nvmf4j.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AddressTextTest {
    @ParameterizedTest
    @CsvSource({
        "0:0:0:0:0:0:0:1, ::1",
        "0:0:0:0:0:0:0:0, ::",
        "2001:db8:0:0:0:0:0:1, 2001:db8::1",
        "2001:DB8:0:1:1:1:1:1, 2001:db8:0:1:1:1:1:1",
        "2001:db8:0:0:1:0:0:1, 2001:db8::1:0:0:1",
        "2001:0:0:1:0:0:0:1, 2001:0:0:1::1",
        "fd00:10:0:0:0:0:0:0, fd00:10::",
        "1:2:3:4:5:6:7:8, 1:2:3:4:5:6:7:8",
        "10:0:100:1000:0:0:10:0, 10:0:100:1000::10:0",
        "127.0.0.1, 127.0.0.1"
    })
    void isTheShortestForm(String address, String text) {
        assertThat(AddressText.of(InetAddress.ofLiteral(address))).isEqualTo(text);
        assertThat(InetAddress.ofLiteral(text)).isEqualTo(InetAddress.ofLiteral(address));
    }

    @Test
    void namesTheInterfaceOnlyOfLinkLocalAddresses() throws UnknownHostException {
        byte[] address = InetAddress.ofLiteral("fe80::2").getAddress();
        assertThat(AddressText.of(Inet6Address.getByAddress(null, address, 7))).isEqualTo("fe80::2%7");
        address[0] = (byte) 0xfd;
        address[1] = 0;
        assertThat(AddressText.of(Inet6Address.getByAddress(null, address, 7))).isEqualTo("fd00::2");
    }

    @Test
    void putsColonsInBracketsBeforeAPort() {
        assertThat(AddressText.of(new InetSocketAddress(InetAddress.ofLiteral("::1"), 4420)))
                .isEqualTo("[::1]:4420");
        assertThat(AddressText.of(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 1)))
                .isEqualTo("127.0.0.1:1");
        assertThat(AddressText.of(InetSocketAddress.createUnresolved("there", 1)))
                .isEqualTo("there:1");
    }
}

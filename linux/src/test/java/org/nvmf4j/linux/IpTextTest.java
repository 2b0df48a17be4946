package org.nvmf4j.linux;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class IpTextTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "::1",
                "::",
                "2001:db8::1",
                "2001:db8:0:1:1:1:1:1",
                "2001:db8::1:0:0:1",
                "2001:0:0:1::1",
                "fd00:10::",
                "1:2:3:4:5:6:7:8",
                "127.0.0.1"
            })
    void isTheShortestForm(String text) {
        assertThat(IpText.of(InetAddress.ofLiteral(text))).isEqualTo(text);
    }

    @Test
    void namesTheInterfaceOnlyOfLinkLocalAddresses() throws UnknownHostException {
        byte[] address = InetAddress.ofLiteral("fe80::2").getAddress();
        assertThat(IpText.of(Inet6Address.getByAddress(null, address, 7))).isEqualTo("fe80::2%7");
        address[0] = (byte) 0xfd;
        address[1] = 0;
        assertThat(IpText.of(Inet6Address.getByAddress(null, address, 7))).isEqualTo("fd00::2");
    }
}

package org.nvmf4j.linux;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import org.junit.jupiter.api.Test;

class PortableIpv4UdpSocketTest extends UdpSocketContract {
    @Override
    UdpOptions.Implementation implementation() {
        return UdpOptions.Implementation.PORTABLE;
    }

    @Override
    InetAddress loopback() {
        return InetAddress.ofLiteral("127.0.0.1");
    }

    @Test
    void saysWhichLoopbackAddressesTheJdkRefuses() {
        InetAddress refused = InetAddress.ofLiteral("127.246.106.255");
        assertThatThrownBy(() -> UdpSocket.open(refused, 0, options))
                .isInstanceOf(IOException.class)
                .hasMessage(
                        "the JDK's sockets refuse 127.246.106.255: use an address of 127/8 that does not end in 255");
    }
}

package org.nvmf4j.linux;

import java.net.InetAddress;
import java.net.SocketException;
import org.junit.jupiter.api.BeforeAll;

class PortableIpv6UdpSocketTest extends UdpSocketContract {
    @BeforeAll
    static void needsIpv6() throws SocketException {
        Ipv6.assumeAvailable();
    }

    @Override
    UdpOptions.Implementation implementation() {
        return UdpOptions.Implementation.PORTABLE;
    }

    @Override
    InetAddress loopback() {
        return Ipv6.LOOPBACK;
    }
}

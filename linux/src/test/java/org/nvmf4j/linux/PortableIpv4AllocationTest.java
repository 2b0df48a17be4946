package org.nvmf4j.linux;

import java.net.InetAddress;

class PortableIpv4AllocationTest extends UdpAllocationContract {
    @Override
    UdpOptions.Implementation implementation() {
        return UdpOptions.Implementation.PORTABLE;
    }

    @Override
    InetAddress loopback() {
        return InetAddress.ofLiteral("127.0.0.1");
    }
}

package org.nvmf4j.linux;

import java.net.InetAddress;

class NativeIpv4AllocationTest extends UdpAllocationContract {
    @Override
    UdpOptions.Implementation implementation() {
        return UdpOptions.Implementation.NATIVE;
    }

    @Override
    InetAddress loopback() {
        return InetAddress.ofLiteral("127.0.0.1");
    }
}

package org.nvmf4j.linux;

import java.net.InetAddress;

class NativeIpv6AllocationTest extends UdpAllocationContract {
    @Override
    UdpOptions.Implementation implementation() {
        return UdpOptions.Implementation.NATIVE;
    }

    @Override
    InetAddress loopback() {
        return InetAddress.ofLiteral("::1");
    }
}

package org.nvmf4j.linux;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.net.InetAddress;
import java.net.SocketException;

/** IPv6's loopback address, which some machines and many containers have not. */
final class Ipv6 {
    static final InetAddress LOOPBACK = InetAddress.ofLiteral("::1");

    private Ipv6() {}

    /** Skips a test where the address is not there. */
    static void assumeAvailable() throws SocketException {
        assumeTrue(NetworkRoutes.localAddresses().contains(LOOPBACK), "this machine has no IPv6");
    }
}

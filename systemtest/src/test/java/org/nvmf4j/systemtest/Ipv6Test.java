package org.nvmf4j.systemtest;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import org.junit.jupiter.api.Test;
import org.nvmf4j.host.Controller;
import org.nvmf4j.host.Host;
import org.nvmf4j.host.HostOptions;
import org.nvmf4j.host.IoQueue;
import org.nvmf4j.host.ThreadingMode;
import org.nvmf4j.testkit.PrivateNetwork;
import org.nvmf4j.verbs.DeviceOptions;

/** Host and target over IPv6, which needs two addresses where loopback has one: so in a network of their own. */
class Ipv6Test {
    private static final InetAddress TARGET = InetAddress.ofLiteral("fd00:7::1");
    private static final InetAddress HOST = InetAddress.ofLiteral("fd00:7::2");

    @Test
    void dataIsRight() throws Exception {
        PrivateNetwork.run(
                "ip -6 addr add " + TARGET.getHostAddress() + "/128 dev lo && ip -6 addr add " + HOST.getHostAddress()
                        + "/128 dev lo",
                Ipv6Test.class);
    }

    /** What runs in the network. */
    public static void main(String[] args) throws IOException {
        for (int pathMtuBytes : new int[] {1024, 4096}) {
            TargetNode.Setup setup = TargetNode.Setup.of("softroce", 16 << 20).withPathMtuBytes(pathMtuBytes);
            try (TargetNode node = TargetNode.startAt(TARGET, setup);
                    Host host = node.openHost(
                            HostOptions.builder().threading(ThreadingMode.CALLER_THREAD),
                            DeviceOptions.defaults().withLocalAddress(HOST));
                    Controller controller = host.connect(node.address(), TargetNode.NQN);
                    IoQueue queue = controller.openIoQueue();
                    RandomIo io = new RandomIo(
                            host, queue, controller.namespace(TargetNode.NSID), 0, 32, 1, 512, 4096, 131072)) {
                assertThat(node.address().getAddress()).isEqualTo(TARGET);
                io.run(500);
            }
        }
    }
}

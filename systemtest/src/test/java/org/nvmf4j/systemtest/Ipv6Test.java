package org.nvmf4j.systemtest;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.nvmf4j.host.Controller;
import org.nvmf4j.host.Host;
import org.nvmf4j.host.HostOptions;
import org.nvmf4j.host.IoQueue;
import org.nvmf4j.host.ThreadingMode;
import org.nvmf4j.linux.NetworkRoutes;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.VerbsException;

/** Host and target over IPv6, where the machine has two addresses whose RoCE port is free. */
class Ipv6Test {
    @Test
    void dataIsRight() throws IOException {
        List<InetAddress> free = freeAddresses();
        Assumptions.assumeTrue(free.size() >= 2, "two free IPv6 addresses");
        TargetNode.Setup setup = TargetNode.Setup.of("softroce", 16 << 20);
        try (TargetNode node = TargetNode.startAt(free.getFirst(), setup);
                Host host = node.openHost(HostOptions.builder()
                        .threading(ThreadingMode.CALLER_THREAD)
                        .localAddress(free.get(1)));
                Controller controller = host.connect(node.address(), TargetNode.NQN);
                IoQueue queue = controller.openIoQueue();
                RandomIo io =
                        new RandomIo(host, queue, controller.namespace(TargetNode.NSID), 0, 32, 1, 512, 4096, 131072)) {
            assertThat(node.address().getAddress()).isInstanceOf(Inet6Address.class);
            io.run(500);
        }
    }

    private static List<InetAddress> freeAddresses() throws IOException {
        List<InetAddress> all = NetworkRoutes.localAddresses();
        List<InetAddress> free = new ArrayList<>();
        for (InetAddress address : all) {
            if (address instanceof Inet6Address && !address.isLinkLocalAddress() && isFree(address)) {
                free.add(address);
            }
        }
        return free;
    }

    private static boolean isFree(InetAddress address) {
        try (Device device = Device.open("softroce", DeviceOptions.at(address))) {
            return device.attributes().localAddress().equals(address);
        } catch (VerbsException e) {
            return false;
        }
    }
}

package org.nvmf4j.softroce;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.nvmf4j.testkit.PrivateNetwork;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.VerbsException;

/**
 * IPv6 needs two addresses and loopback has but one: so this runs in network namespaces of its own, where it may make them. There no
 * other test can have the port.
 */
class Ipv6Test {
    private static final String TARGET = "fd00:7::1";
    private static final String HOST = "fd00:7::2";
    private static final String LOOPBACK = "::1";

    @Test
    void movesDataBetweenTwoAddresses() throws Exception {
        PrivateNetwork.run(
                "ip -6 addr add " + TARGET + "/128 dev lo && ip -6 addr add " + HOST + "/128 dev lo",
                Ipv6Test.class,
                "exchange");
    }

    @Test
    void saysThatLoopbackNeedsASecondAddress() throws Exception {
        PrivateNetwork.run("true", Ipv6Test.class, "alone");
    }

    /** What runs in a namespace. */
    public static void main(String[] args) throws Exception {
        if (args[0].equals("alone")) {
            DeviceOptions options = DeviceOptions.towards(InetAddress.ofLiteral(LOOPBACK));
            try (Device device = Device.open(new SoftRoceProvider(), options)) {
                throw new AssertionError("opened " + device.attributes());
            } catch (VerbsException e) {
                assertThat(e).hasMessageContaining("ip -6 addr add").hasMessageNotContaining("\n");
            }
            return;
        }
        InetAddress target = InetAddress.ofLiteral(TARGET);
        exchange(target, InetAddress.ofLiteral(HOST), target);
        exchange(target, null, target); // the host finds an address by itself
        InetAddress loopback = InetAddress.ofLiteral(LOOPBACK);
        exchange(loopback, null, loopback);
    }

    private static void exchange(InetAddress target, @Nullable InetAddress host, InetAddress towards)
            throws VerbsException {
        SoftRoceProvider provider = new SoftRoceProvider();
        DeviceOptions hostOptions = DeviceOptions.towards(towards).withLocalAddress(host);
        try (Pair pair = Pair.open(provider, DeviceOptions.at(target), hostOptions)) {
            Side hostSide = pair.side(pair.host, 0);
            Side targetSide = pair.side(pair.target, 0);
            pair.connectAndWait(hostSide, targetSide);
            TrafficTest.exchange(
                    pair, hostSide, targetSide, pair.host.attributes().pathMtuBytes());
            assertThat(Pair.count(pair.host, Counter.DROPPED_ICRC)).isZero();
            assertThat(Pair.count(pair.target, Counter.DROPPED_ICRC)).isZero();
        }
    }
}

package org.nvmf4j.softroce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nvmf4j.linux.NetworkRoutes;
import org.nvmf4j.linux.UdpOptions;
import org.nvmf4j.roce.wire.PathMtu;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.RejectReason;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.spi.VerbsProvider;

class SoftRoceDeviceTest {
    private final SoftRoceProvider provider = new SoftRoceProvider();

    @Test
    void isFoundByItsName() {
        assertThat(ServiceLoader.load(VerbsProvider.class).stream()
                        .map(found -> found.get().name()))
                .contains("softroce");
    }

    @Test
    void isTakenForAnyAddressByItself() throws VerbsException {
        try (Device device = Device.open(Device.ANY_PROVIDER, DeviceOptions.at(Pair.randomLoopbackAddress()))) {
            assertThat(device.attributes().provider()).isEqualTo("softroce");
        }
    }

    @Test
    void saysWhatIsInTheWayOfItsPort() throws VerbsException {
        InetAddress address = Pair.randomLoopbackAddress();
        try (Device first = Device.open(provider, DeviceOptions.at(address))) {
            assertThat(first.attributes().localAddress()).isEqualTo(address);
            assertThatThrownBy(() -> Device.open(provider, DeviceOptions.at(address)))
                    .isInstanceOf(VerbsException.class)
                    .hasMessageContaining("UDP port 4791 on " + address.getHostAddress() + " is taken by")
                    .hasMessageNotContaining("\n");
        }
        Device.open(provider, DeviceOptions.at(address)).close(); // it is free again
    }

    @Test
    void saysWhatIsInTheWayOfAPortWithSeveralVectors() throws VerbsException {
        InetAddress address = Pair.randomLoopbackAddress();
        try (Device first = Device.open(provider, DeviceOptions.at(address).withVectors(3))) {
            assertThat(first.attributes().vectors()).isEqualTo(3);
            assertThatThrownBy(() ->
                            Device.open(provider, DeviceOptions.at(address).withVectors(4)))
                    .isInstanceOf(VerbsException.class)
                    .hasMessageContaining("is taken by");
        }
    }

    @Test
    void findsFreeLoopbackAddressForPeerOnLoopback() throws VerbsException {
        DeviceOptions options = DeviceOptions.towards(InetAddress.ofLiteral("127.0.0.1"));
        try (Device one = Device.open(provider, options);
                Device other = Device.open(provider, options)) {
            assertThat(one.attributes().localAddress().isLoopbackAddress()).isTrue();
            assertThat(other.attributes().localAddress().isLoopbackAddress()).isTrue();
            assertThat(one.attributes().localAddress())
                    .isNotEqualTo(other.attributes().localAddress());
        }
    }

    @Test
    void refusesAddressesThatCannotServe() {
        assertThatThrownBy(() -> Device.open(provider, DeviceOptions.at(InetAddress.ofLiteral("0.0.0.0"))))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("needs one address of this machine, not 0.0.0.0");
        assertThatThrownBy(() -> Device.open(provider, DeviceOptions.at(InetAddress.ofLiteral("224.0.0.1"))))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("224.0.0.1");
        assertThatThrownBy(() -> Device.open(provider, DeviceOptions.at(InetAddress.ofLiteral("240.0.0.7"))))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("no interface of this machine has the address 240.0.0.7");
        DeviceOptions mixed = DeviceOptions.towards(InetAddress.ofLiteral("::1"))
                .withLocalAddress(InetAddress.ofLiteral("127.0.0.1"));
        assertThatThrownBy(() -> Device.open(provider, mixed))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("not of one IP version");
    }

    @ParameterizedTest
    @CsvSource({"0, 4096", "4096, 4096", "1024, 1024", "256, 256"})
    void hasThePathMtuOfItsLinkOrLess(int asked, int granted) throws VerbsException {
        DeviceOptions options = DeviceOptions.at(Pair.randomLoopbackAddress()).withPathMtuBytes(asked);
        try (Device device = Device.open(provider, options)) {
            assertThat(device.attributes().pathMtuBytes()).isEqualTo(granted);
        }
    }

    @Test
    void hasAPathMtuThatAPeerOnThisMachineTakes() throws Exception {
        for (InetAddress peer : NetworkRoutes.localAddresses()) {
            if (peer instanceof Inet4Address && !peer.isLoopbackAddress()) {
                try (Device device = Device.open(provider, DeviceOptions.towards(peer))) {
                    assertThat(device.attributes().localAddress().isLoopbackAddress())
                            .isTrue();
                    assertThat(device.attributes().pathMtuBytes())
                            .isLessThanOrEqualTo(PathMtu.ofLinkMtu(NetworkRoutes.mtuBytes(peer)));
                }
            }
        }
    }

    @Test
    void rejectsPeerThatAsksForMoreThanItsPathMtu() throws VerbsException {
        InetAddress address = Pair.randomLoopbackAddress();
        try (Pair pair = Pair.open(
                provider,
                DeviceOptions.at(address).withPathMtuBytes(1024),
                DeviceOptions.towards(address).withPathMtuBytes(2048))) {
            Side host = pair.side(pair.host, 0);
            pair.connect(host, pair.side(pair.target, 0));
            pair.await("the rejection", () -> !host.events.isEmpty());
            assertThat(host.events).containsExactly("rejected");
            assertThat(host.rejectReason).isEqualTo(RejectReason.INVALID_MTU);
        }
    }

    @Test
    void hasOneVectorWhereTheSystemCannotSteer() throws VerbsException {
        SoftRoceProvider portable = Providers.impatient(UdpOptions.Implementation.PORTABLE);
        DeviceOptions options = DeviceOptions.at(Pair.randomLoopbackAddress()).withVectors(4);
        try (Device device = Device.open(portable, options)) {
            assertThat(device.attributes().vectors()).isEqualTo(1);
        }
    }

    @Test
    void takesNoQueuePairBeyondItsLimits() throws VerbsException {
        try (Pair pair = Pair.open()) {
            Side side = pair.side(pair.host, 0);
            assertThat(side.queuePair.inlineBytes()).isEqualTo(64);
            assertThat(side.queuePair.number()).isBetween(2, 0xFF_FFFE);
            assertThat(pair.host.attributes().maxSge()).isEqualTo(32);
        }
    }

    @Test
    void doesNotWaitForAPeerThatThisMachineDoesNotHave() throws VerbsException {
        InetAddress address = Pair.randomLoopbackAddress();
        InetAddress nobody = Pair.randomLoopbackAddress();
        try (Pair pair = Pair.open(provider, DeviceOptions.at(address), DeviceOptions.towards(address))) {
            Side host = pair.side(pair.host, 0);
            InetSocketAddress to = new InetSocketAddress(nobody, 4420);
            host.connection =
                    pair.host.connect(host.queuePair, to, new ConnectionParameters(new byte[0], 16, 16, 7, 7), host);
            pair.await("the failure", () -> !host.events.isEmpty());
            assertThat(host.events).containsExactly("failed");
            assertThat(host.failure).startsWith("nothing listens at " + nobody.getHostAddress());
            assertThat(Pair.count(pair.host, Counter.MADS_SENT)).isZero();
        }
    }

    @Test
    void saysWhichAddressItHas() throws IOException {
        InetAddress local = Pair.randomLoopbackAddress();
        assertThat(DeviceSockets.describe(local, null, 4096))
                .contains(
                        local.getHostAddress(), NetworkRoutes.interfaceOf(local).getName(), "4096");
        InetAddress loopback = InetAddress.ofLiteral("::1");
        assertThat(DeviceSockets.describe(local, loopback, 1024)).contains("towards ::1", "another address");
    }

    @Test
    void closingTheDeviceTellsThePeer() throws VerbsException {
        InetAddress address = Pair.randomLoopbackAddress();
        Device host = null;
        try (Pair pair = Pair.open(provider, DeviceOptions.at(address), DeviceOptions.towards(address))) {
            host = pair.host;
            Side hostSide = pair.side(host, 0);
            Side targetSide = pair.side(pair.target, 0);
            pair.connectAndWait(hostSide, targetSide);
            host.close();
            pair.await("the end of the connection", () -> targetSide.events.size() == 2);
            assertThat(targetSide.events).containsExactly("established", "disconnected");
            assertThat(hostSide.events).containsExactly("established");
        }
    }

    @Test
    void givesUpPeerThatFellSilent() throws VerbsException {
        InetAddress address = Pair.randomLoopbackAddress();
        try (Pair pair = Pair.open(provider, DeviceOptions.at(address), DeviceOptions.towards(address))) {
            Side host = pair.side(pair.host, 0);
            pair.connectAndWait(host, pair.side(pair.target, 0));
            host.send(0, 100);
            host.receive(4096, 100);
            // Nobody drives the target any more, as if its process had been stopped.
            for (int i = 0; host.sent.isEmpty(); i++) {
                host.turn();
                assertThat(i).as("turns").isLessThan(Integer.MAX_VALUE);
            }
            assertThat(host.sent).containsExactly(WorkCompletionStatus.RETRY_EXCEEDED);
            assertThat(Pair.count(pair.host, Counter.TIMEOUTS)).isGreaterThan(7);
        }
    }
}

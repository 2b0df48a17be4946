package org.nvmf4j.pcie;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nvmf4j.pcie.PciFunction.Kind;
import org.nvmf4j.pcie.PciRoute.Reachable;
import org.nvmf4j.pcie.PciRoute.Unreachable;
import org.nvmf4j.pcie.PciRoute.Via;
import org.nvmf4j.testkit.SysfsTree;

class PciTopologyTest {
    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path dir;

    @SuppressWarnings("NullAway.Init")
    private SysfsTree tree;

    @BeforeEach
    void makeTree() {
        tree = new SysfsTree(dir.resolve("sys"));
    }

    private PciRoute route(String from, String to) throws IOException {
        return route(PciTopology.read(tree.root()), from, to);
    }

    private static PciRoute route(PciTopology topology, String from, String to) {
        PciRoute route = topology.route(PciAddress.parse(from), PciAddress.parse(to));
        PciRoute back = topology.route(PciAddress.parse(to), PciAddress.parse(from));
        if (route instanceof Reachable) {
            assertThat(back).isEqualTo(route);
        } else {
            assertThat(back).isInstanceOf(Unreachable.class);
        }
        return route;
    }

    private static void assertUnreachable(PciRoute route, String reason) {
        assertThat(route).isEqualTo(new Unreachable(reason));
    }

    /** A switch with three NVMe devices at buses first + 3 to first + 5 (the first with two functions). */
    private static void addSwitch(SysfsTree.Node below, int first) {
        String bus = "0000:%02x:".formatted(first + 1);
        SysfsTree.Node upstream = below.switchUpstreamPort("0000:%02x:00.0".formatted(first));
        for (int port = 0; port < 3; port++) {
            SysfsTree.Node downstream = upstream.switchDownstreamPort(bus + "0" + port + ".0");
            downstream.nvme("0000:%02x:00.0".formatted(first + 2 + port));
            if (port == 0) {
                downstream.nvme("0000:%02x:00.1".formatted(first + 2));
            }
        }
    }

    @Test
    void countsAsLinuxWithinOneSwitch() throws IOException {
        addSwitch(tree.hostBridge("0000:00", SysfsTree.OTHER_HOST_BRIDGE).rootPort("0000:00:01.0"), 1);
        assertThat(route("0000:03:00.0", "0000:03:00.0")).isEqualTo(new Reachable(0, Via.SWITCH));
        assertThat(route("0000:03:00.0", "0000:03:00.1")).isEqualTo(new Reachable(2, Via.SWITCH));
        assertThat(route("0000:03:00.0", "0000:04:00.0")).isEqualTo(new Reachable(4, Via.SWITCH));
    }

    @Test
    void addsTheHopsOfSwitchesBelowSwitches() throws IOException {
        SysfsTree.Node top =
                tree.hostBridge("0000:00", SysfsTree.OTHER_HOST_BRIDGE).rootPort("0000:00:01.0");
        SysfsTree.Node upstream = top.switchUpstreamPort("0000:01:00.0");
        upstream.switchDownstreamPort("0000:02:00.0").nic("0000:03:00.0");
        addSwitch(upstream.switchDownstreamPort("0000:02:01.0"), 0x10);
        addSwitch(upstream.switchDownstreamPort("0000:02:02.0"), 0x20);
        assertThat(route("0000:12:00.0", "0000:13:00.0")).isEqualTo(new Reachable(4, Via.SWITCH));
        assertThat(route("0000:03:00.0", "0000:12:00.0")).isEqualTo(new Reachable(6, Via.SWITCH));
        assertThat(route("0000:14:00.0", "0000:22:00.1")).isEqualTo(new Reachable(8, Via.SWITCH));
    }

    @Test
    void refusesTwoRootPortsOfAPlatformThatIsNotKnownToRoute() throws IOException {
        SysfsTree.Node host = tree.hostBridge("0000:00", SysfsTree.OTHER_HOST_BRIDGE);
        host.rootPort("0000:00:01.0").nvme("0000:03:00.0");
        host.rootPort("0000:00:02.0").nic("0000:04:00.0");
        assertUnreachable(
                route("0000:03:00.0", "0000:04:00.0"),
                "NVMe device 0000:03:00.0 is under root port 0000:00:01.0, NIC 0000:04:00.0 is under root port"
                        + " 0000:00:02.0 of the same host bridge 0000:00, and this platform (host bridge 8086:29c0) is"
                        + " not known to route between them");
    }

    @Test
    void goesThroughHostBridgesThatLinuxLists() throws IOException {
        SysfsTree.Node host = tree.hostBridge("0000:00", SysfsTree.ROUTING_HOST_BRIDGE);
        host.rootPort("0000:00:01.0").nvme("0000:03:00.0");
        host.rootPort("0000:00:02.0").nic("0000:04:00.0");
        tree.hostBridge("0000:40", SysfsTree.ROUTING_HOST_BRIDGE)
                .rootPort("0000:40:02.0")
                .nic("0000:41:00.0");
        assertThat(route("0000:03:00.0", "0000:04:00.0")).isEqualTo(new Reachable(4, Via.HOST_BRIDGE));
        assertThat(route("0000:03:00.0", "0000:41:00.0")).isEqualTo(new Reachable(4, Via.HOST_BRIDGE));
    }

    @Test
    void someHostBridgesRouteOnlyWithinThemselves() throws IOException {
        SysfsTree.Node host = tree.hostBridge("0000:00", "8086:2f00");
        host.rootPort("0000:00:01.0").nvme("0000:03:00.0");
        host.rootPort("0000:00:02.0").nic("0000:04:00.0");
        tree.hostBridge("0000:40", SysfsTree.ROUTING_HOST_BRIDGE)
                .rootPort("0000:40:02.0")
                .nic("0000:41:00.0");
        assertThat(route("0000:03:00.0", "0000:04:00.0")).isEqualTo(new Reachable(4, Via.HOST_BRIDGE));
        assertUnreachable(
                route("0000:03:00.0", "0000:41:00.0"),
                "NVMe device 0000:03:00.0 is behind host bridge 0000:00, NIC 0000:41:00.0 is behind host bridge"
                        + " 0000:40, and this platform (host bridge 8086:2f00, host bridge 8086:09a2) is not known to"
                        + " route between them");
    }

    @Test
    void knowsAHostBridgeWithoutFunctionByItsFirstRootPort() throws IOException {
        SysfsTree.Node host = tree.hostBridgeWithoutFunction("0000:17");
        host.add("0000:17:02.0", "8086:2031", "060400", 4).nvme("0000:18:00.0");
        host.add("0000:17:03.0", "8086:2033", "060400", 4).nic("0000:19:00.0");
        SysfsTree.Node odd = tree.hostBridgeWithoutFunction("0000:40");
        odd.nic("0000:40:01.0");
        assertThat(route("0000:18:00.0", "0000:19:00.0")).isEqualTo(new Reachable(4, Via.HOST_BRIDGE));
        assertThat(route("0000:18:00.0", "0000:40:01.0")).isInstanceOf(Unreachable.class);
    }

    @Test
    void trustsAmdFromZenOn() throws IOException {
        tree.hostBridge("0000:00", "1022:1480").rootPort("0000:00:01.0").nvme("0000:03:00.0");
        tree.hostBridge("0000:40", "1022:1480").rootPort("0000:40:01.0").nic("0000:41:00.0");
        assertThat(route("0000:03:00.0", "0000:41:00.0")).isInstanceOf(Unreachable.class);
        tree.processor("AuthenticAMD", 0x16);
        assertThat(route("0000:03:00.0", "0000:41:00.0")).isInstanceOf(Unreachable.class);
        tree.processor("AuthenticAMD", 0x17);
        assertThat(route("0000:03:00.0", "0000:41:00.0")).isEqualTo(new Reachable(4, Via.HOST_BRIDGE));
        tree.processor("GenuineIntel", 0x17);
        assertThat(route("0000:03:00.0", "0000:41:00.0")).isInstanceOf(Unreachable.class);
    }

    @Test
    void acsRedirectOnTheWaySendsItThroughTheHostBridge() throws IOException {
        addSwitch(tree.hostBridge("0000:00", SysfsTree.OTHER_HOST_BRIDGE).rootPort("0000:00:01.0"), 1);
        tree.function("0000:02:01.0").acs(SysfsTree.ACS_REDIRECT);
        tree.function("0000:02:02.0").acs(0x53); // on, but no redirect
        assertThat(route("0000:03:00.0", "0000:05:00.0")).isEqualTo(new Reachable(4, Via.SWITCH));
        assertUnreachable(
                route("0000:03:00.0", "0000:04:00.0"),
                "ACS redirect at 0000:02:01.0 sends what goes between NVMe device 0000:03:00.0 and NVMe device"
                        + " 0000:04:00.0 through host bridge 0000:00, and this platform (host bridge 8086:29c0) is not"
                        + " known to route it back; the kernel parameter pci=disable_acs_redir=0000:02:01.0 turns it"
                        + " off");
        tree.processor("AuthenticAMD", 0x19);
        assertThat(route("0000:03:00.0", "0000:04:00.0")).isEqualTo(new Reachable(4, Via.HOST_BRIDGE));
        assertThat(route("0000:03:00.0", "0000:05:00.0")).isEqualTo(new Reachable(4, Via.SWITCH));
    }

    @Test
    void acsOfTheCommonBridgeAndOfTheEndsCounts() throws IOException {
        SysfsTree.Node port = tree.hostBridge("0000:00", SysfsTree.OTHER_HOST_BRIDGE)
                .rootPort("0000:00:01.0")
                .acs(SysfsTree.ACS_REDIRECT);
        port.nvme("0000:01:00.0");
        port.nic("0000:01:00.1");
        assertThat(route("0000:01:00.0", "0000:01:00.1"))
                .isInstanceOfSatisfying(
                        Unreachable.class, no -> assertThat(no.reason()).startsWith("ACS redirect at 0000:00:01.0 "));
        assertThat(route("0000:01:00.0", "0000:01:00.0")).isEqualTo(new Reachable(0, Via.SWITCH));
        port.acs(0);
        tree.function("0000:01:00.1").acs(SysfsTree.ACS_REDIRECT);
        assertThat(route("0000:01:00.0", "0000:01:00.1")).isInstanceOf(Unreachable.class);
    }

    @Test
    void saysSoWhereAcsBitsCannotBeRead() throws IOException {
        addSwitch(tree.hostBridge("0000:00", SysfsTree.OTHER_HOST_BRIDGE).rootPort("0000:00:01.0"), 1);
        tree.function("0000:02:01.0").withoutPrivileges();
        assertUnreachable(
                route("0000:03:00.0", "0000:04:00.0"),
                "the ACS bits of 0000:02:01.0 between NVMe device 0000:03:00.0 and NVMe device 0000:04:00.0 cannot be"
                        + " read, and if they redirect, this platform (host bridge 8086:29c0) is not known to route;"
                        + " reading all of the configuration space needs root");
        assertThat(PciTopology.read(tree.root())
                        .function(PciAddress.parse("0000:02:01.0"))
                        .orElseThrow()
                        .kind())
                .isEqualTo(Kind.BRIDGE);
        tree.processor("AuthenticAMD", 0x17);
        assertThat(route("0000:03:00.0", "0000:04:00.0")).isEqualTo(new Reachable(4, Via.SWITCH_OR_HOST_BRIDGE));
    }

    @Test
    void aDomainBelowAFunctionIsATreeOfItsOwn() throws IOException {
        SysfsTree.Node host = tree.hostBridge("0000:00", SysfsTree.OTHER_HOST_BRIDGE);
        SysfsTree.Node controller = host.add("0000:00:0e.0", "8086:28c0", "010400", 0);
        tree.hostBridgeWithoutFunction("0000:00/" + controller.address() + "/pci10000:00")
                .rootPort("10000:00:02.0")
                .nvme("10000:01:00.0");
        PciFunction nvme = PciTopology.read(tree.root())
                .function(PciAddress.parse("10000:01:00.0"))
                .orElseThrow();
        assertThat(nvme.hostBridge()).isEqualTo("10000:00");
        assertThat(nvme.upstreamBridges()).containsExactly(PciAddress.parse("10000:00:02.0"));
        assertThat(route("10000:01:00.0", "0000:00:0e.0")).isInstanceOf(Unreachable.class);
    }

    @Test
    void aFunctionThatVanishedIsNotFoundAgain() throws IOException {
        addSwitch(tree.hostBridge("0000:00", SysfsTree.OTHER_HOST_BRIDGE).rootPort("0000:00:01.0"), 1);
        tree.function("0000:03:00.0").unplug();
        assertUnreachable(route("0000:03:00.0", "0000:04:00.0"), "there is no PCI function 0000:03:00.0");
        assertThat(route("0000:03:00.1", "0000:04:00.0")).isEqualTo(new Reachable(4, Via.SWITCH));
    }

    @Test
    void readsMachinesWithoutPciAndRefusesWhatIsNoSysfs(@TempDir Path other) throws IOException {
        assertThat(PciTopology.read(tree.root()).functions()).isEmpty();
        assertThatThrownBy(() -> PciTopology.read(other))
                .isInstanceOf(IOException.class)
                .hasMessage(other + " is no sysfs tree: it has no folder bus");
    }

    /** What must not keep the machine's other functions from use. */
    @Test
    void leavesOutFunctionsThatMakeNoSense() throws IOException {
        addSwitch(tree.hostBridge("0000:00", SysfsTree.OTHER_HOST_BRIDGE).rootPort("0000:00:01.0"), 1);
        Path noNumber = tree.function("0000:03:00.0").folder().resolve("vendor");
        Files.writeString(noNumber, "none\n");
        Files.createSymbolicLink(tree.root().resolve("bus/pci/devices/0000:0f:00.0"), Path.of("0000:0f:00.0"));
        PciTree read = new PciTree(tree.root());
        try (LoggedWarnings logged = new LoggedWarnings()) {
            PciTopology topology = read.read();
            assertThat(topology.function(PciAddress.parse("03:00.0"))).isEmpty();
            assertThat(route(topology, "0000:03:00.1", "0000:04:00.0")).isEqualTo(new Reachable(4, Via.SWITCH));
            assertThat(logged.take())
                    .hasSize(2)
                    .anyMatch(line -> line.startsWith("PCI function 0000:03:00.0 is left out: ")
                            && line.endsWith("/vendor holds no hexadecimal number"))
                    .anyMatch(line -> line.startsWith("PCI function 0000:0f:00.0 is left out: "));
            read.read();
            assertThat(logged.take()).as("at the second look").isEmpty();

            Files.writeString(noNumber, "0x1b36\n");
            assertThat(read.read().function(PciAddress.parse("03:00.0"))).isPresent();
            assertThat(logged.take()).isEmpty();
        }
    }

    @Test
    void readsNumbersOfAllBitsAndAttributesFilledUpByAnArchive() throws IOException {
        SysfsTree.Node host = tree.hostBridge("0000:00", SysfsTree.OTHER_HOST_BRIDGE);
        Path folder = host.nvme("0000:00:01.0").folder();
        Files.writeString(folder.resolve("class"), "0xffffffff\n");
        Files.write(folder.resolve("vendor"), Arrays.copyOf("0x8086\n".getBytes(StandardCharsets.UTF_8), 4096));
        PciFunction function = PciTopology.read(tree.root())
                .function(PciAddress.parse("00:01.0"))
                .orElseThrow();
        assertThat(function.classCode()).isEqualTo(-1);
        assertThat(function.kind()).isEqualTo(Kind.ENDPOINT);
        assertThat(function.ids()).isEqualTo("8086:0010");
    }

    @Test
    void seesWhatChangesWhenItLooksAgain() throws IOException {
        SysfsTree.Node root =
                tree.hostBridge("0000:00", SysfsTree.OTHER_HOST_BRIDGE).rootPort("0000:00:01.0");
        addSwitch(root, 1);
        tree.function("0000:02:01.0").acs(0);
        PciTree read = new PciTree(tree.root());
        assertThat(route(read.read(), "0000:03:00.0", "0000:04:00.0")).isInstanceOf(Reachable.class);
        tree.function("0000:02:01.0").acs(SysfsTree.ACS_REDIRECT);
        assertThat(route(read.read(), "0000:03:00.0", "0000:04:00.0")).isInstanceOf(Unreachable.class);
        tree.function("0000:02:01.0").withoutPrivileges();
        assertThat(read.read()
                        .function(PciAddress.parse("02:01.0"))
                        .orElseThrow()
                        .acs()
                        .isUnknown())
                .isTrue();
        tree.function("0000:04:00.0").unplug();
        assertThat(read.read().function(PciAddress.parse("04:00.0"))).isEmpty();
        tree.function("0000:02:01.0").nic("0000:04:00.0");
        assertThat(read.read()
                        .function(PciAddress.parse("04:00.0"))
                        .orElseThrow()
                        .ids())
                .isEqualTo("15b3:1021");
    }

    @Test
    void readsARunningMachine() throws IOException {
        PciTopology topology = PciTopology.read(
                SysfsTree.captured("switch", dir.resolve("captured")).root());
        assertThat(topology.functions())
                .extracting(f -> f.address() + " " + f.ids() + " " + f.kind() + " "
                        + Integer.toHexString(f.acs().control()))
                .containsExactly(
                        "0000:00:00.0 8086:29c0 HOST_BRIDGE 0",
                        "0000:00:04.0 1b36:000c ROOT_PORT 1d",
                        "0000:00:05.0 1b36:000c ROOT_PORT 1d",
                        "0000:00:1f.0 8086:2918 ENDPOINT 0",
                        "0000:01:00.0 104c:8232 SWITCH_UPSTREAM_PORT 0",
                        "0000:02:00.0 104c:8233 SWITCH_DOWNSTREAM_PORT 0",
                        "0000:02:01.0 104c:8233 SWITCH_DOWNSTREAM_PORT 0",
                        "0000:02:02.0 104c:8233 SWITCH_DOWNSTREAM_PORT 0",
                        "0000:03:00.0 1b36:0010 ENDPOINT 0",
                        "0000:04:00.0 1b36:0010 ENDPOINT 0",
                        "0000:05:00.0 1af4:1041 ENDPOINT 0",
                        "0000:06:00.0 1b36:0010 ENDPOINT 0");
        assertThat(route(topology, "0000:03:00.0", "0000:04:00.0")).isEqualTo(new Reachable(4, Via.SWITCH));
        assertThat(route(topology, "0000:03:00.0", "0000:05:00.0")).isEqualTo(new Reachable(4, Via.SWITCH));
        assertThat(route(topology, "0000:03:00.0", "0000:06:00.0")).isInstanceOf(Unreachable.class);
    }

    @Test
    void seesThatAMachineWithoutIommuHasRedirectOff() throws IOException {
        SysfsTree captured = SysfsTree.captured("switch-noiommu", dir.resolve("captured"));
        PciTopology topology = PciTopology.read(captured.root());
        assertThat(topology.functions()).noneMatch(f -> f.acs().redirects());
        assertThat(topology.function(PciAddress.parse("00:04.0")).orElseThrow().acs())
                .isEqualTo(new AcsControl(AcsControl.State.PRESENT, 0));
    }
}

package org.nvmf4j.pcie;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nvmf4j.pcie.FoundDevice.NotOnPci;
import org.nvmf4j.pcie.FoundDevice.OnPci;
import org.nvmf4j.testkit.SysfsTree;

class DeviceFinderTest {
    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path dir;

    @SuppressWarnings("NullAway.Init")
    private SysfsTree tree;

    @SuppressWarnings("NullAway.Init")
    private DeviceFinder finder;

    @BeforeEach
    void makeTree() {
        tree = new SysfsTree(dir.resolve("sys"));
        SysfsTree.Node host = tree.hostBridge("0000:00", SysfsTree.OTHER_HOST_BRIDGE);
        host.rootPort("0000:00:01.0")
                .nvme("0000:03:00.0")
                .blockDevice("nvme0n1", "259:0")
                .partition("nvme0n1", "nvme0n1p2", "259:2");
        host.rootPort("0000:00:02.0")
                .nic("0000:04:00.0")
                .networkInterface("eth0", "")
                .rdmaDevice("mlx5_0");
        host.rootPort("0000:00:03.0").nic("0000:05:00.0").networkInterface("eth1", "virtio1");
        tree.virtualNetworkInterface("lo");
        tree.softRdmaDevice("rxe0", "eth0");
        tree.virtualBlockDevice("loop0", "7:0");
        finder = new DeviceFinder(tree.root());
    }

    private static OnPci on(String address) {
        return new OnPci(PciAddress.parse(address));
    }

    @Test
    void findsTheFunctionBehindANetworkInterface() {
        assertThat(finder.networkInterface("eth0")).isEqualTo(on("0000:04:00.0"));
        assertThat(finder.networkInterface("eth1")).isEqualTo(on("0000:05:00.0"));
        assertThat(finder.networkInterface("lo"))
                .isEqualTo(new NotOnPci("network interface lo is virtual: no PCI device"));
        assertThat(finder.networkInterface("eth7")).isEqualTo(new NotOnPci("there is no network interface eth7"));
    }

    @Test
    void findsTheFunctionBehindAnRdmaDeviceUnlessItIsSoftware() {
        assertThat(finder.rdmaDevice("mlx5_0")).isEqualTo(on("0000:04:00.0"));
        assertThat(finder.rdmaDevice("rxe0"))
                .isEqualTo(new NotOnPci("RDMA device rxe0 is software over eth0: the CPU moves its data"));
        assertThat(finder.rdmaDevice("mlx5_1"))
                .isEqualTo(new NotOnPci("RDMA device mlx5_1 is not one of the kernel's: the CPU moves its data"));
    }

    @Test
    void namesTheRdmaDevicesAndKnowsBlockDevices() throws IOException {
        assertThat(finder.rdmaDevices()).containsExactly("mlx5_0", "rxe0");
        assertThat(new DeviceFinder(dir.resolve("none")).rdmaDevices()).isEmpty();
        assertThat(finder.hasBlockDevice("nvme0n1p2")).isTrue();
        assertThat(finder.hasBlockDevice("nvme9n1")).isFalse();
    }

    @Test
    void seesThroughSoftwareRdmaThatClaimsItsNetworkCard() throws IOException {
        tree.function("0000:04:00.0").rdmaDevice("siw0");
        Files.writeString(tree.root().resolve("class/infiniband/siw0/node_desc"), "Software iWARP stack\n");
        assertThat(finder.rdmaDevice("siw0"))
                .isEqualTo(new NotOnPci("RDMA device siw0 is software: the CPU moves its data"));
    }

    @Test
    void findsTheFunctionBehindABlockDeviceOrAPartition() {
        assertThat(finder.blockDevice("nvme0n1")).isEqualTo(on("0000:03:00.0"));
        assertThat(finder.blockDevice("nvme0n1p2")).isEqualTo(on("0000:03:00.0"));
        assertThat(finder.blockDevice("loop0")).isEqualTo(new NotOnPci("block device loop0 is virtual: no PCI device"));
        assertThat(finder.blockDevice("sdz")).isEqualTo(new NotOnPci("there is no block device sdz"));
        assertThat(finder.blockDevice("../block/loop0"))
                .isEqualTo(new NotOnPci("there is no block device ../block/loop0"));
    }

    @Test
    void nodesInDevGoByTheirNameInTheTree() {
        assertThat(finder.file(Path.of("/dev/nvme0n1p2"))).isEqualTo(on("0000:03:00.0"));
    }

    @Test
    void findsTheFunctionBehindTheFileSystemOfAFile() throws IOException {
        Path file = Files.createFile(dir.resolve("disk.img"));
        long device = (Long) Files.getAttribute(file, "unix:dev");
        String number = DeviceFinder.major(device) + ":" + DeviceFinder.minor(device);
        assertThat(finder.file(file))
                .isEqualTo(new NotOnPci(file + " lies on no block device of its own (device number " + number + ")"));
        tree.function("0000:03:00.0").blockDevice("nvme0n7", number);
        assertThat(finder.file(file)).isEqualTo(on("0000:03:00.0"));
        assertThat(finder.file(dir.resolve("none")))
                .isInstanceOfSatisfying(
                        NotOnPci.class, none -> assertThat(none.reason()).startsWith("cannot look at "));
    }

    @Test
    void takesDeviceNumbersApart() {
        long device = 0x45 | (0x103L << 8) | (0x123L << 20) | (0x5L << 44);
        assertThat(DeviceFinder.major(device)).isEqualTo(0x5103);
        assertThat(DeviceFinder.minor(device)).isEqualTo(0x12345);
    }

    @Test
    void findsWhatARunningMachineHas() {
        DeviceFinder captured = new DeviceFinder(
                SysfsTree.captured("switch", dir.resolve("captured")).root());
        assertThat(captured.networkInterface("eth0")).isEqualTo(on("0000:05:00.0"));
        assertThat(captured.networkInterface("lo")).isInstanceOf(NotOnPci.class);
        assertThat(captured.rdmaDevice("rxe0")).isInstanceOf(NotOnPci.class);
        assertThat(captured.blockDevice("nvme2n1")).isEqualTo(on("0000:06:00.0"));
    }
}

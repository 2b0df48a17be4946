package org.nvmf4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nvmf4j.testkit.SysfsTree;
import picocli.CommandLine;

class PcieCommandTest {
    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path dir;

    @SuppressWarnings("NullAway.Init")
    private SysfsTree tree;

    @BeforeEach
    void makeTree() {
        tree = new SysfsTree(dir.resolve("sys"));
    }

    private List<String> list(String... more) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CommandLine command = Main.commandLine();
        command.setOut(new PrintWriter(out));
        command.setErr(new PrintWriter(err));
        List<String> words = new ArrayList<>(List.of("pcie", "list", "--sysfs=" + tree.root()));
        words.addAll(List.of(more));
        assertThat(Main.launch(command, words.toArray(String[]::new))).isZero();
        assertThat(err.toString()).isEmpty();
        return out.toString().lines().toList();
    }

    /** A drive of each sort, and a NIC that is not listed. */
    private void makeDrives() {
        tree.mounts("259:2 /dev/nvme1n1p2 /", "0:40 /dev/nvme1n1p1 /boot", "259:9 /dev/nvme1n1p3 swap");
        SysfsTree.Node host = tree.hostBridge("0000:00", SysfsTree.OTHER_HOST_BRIDGE);
        host.nvme("0000:00:04.0").driver("vfio-pci").iommuGroup(3);
        host.nvme("0000:00:05.0")
                .driver("nvme")
                .iommuGroup(4)
                .blockDevice("nvme0n1", "259:0")
                .memoryBuffer("nvme0", 2, 0x1021d);
        SysfsTree.Node port = host.rootPort("0000:00:06.0").driver("pcieport").iommuGroup(5);
        port.nvme("0000:01:00.0")
                .driver("nvme")
                .iommuGroup(5)
                .blockDevice("nvme1n1", "259:1")
                .partition("nvme1n1", "nvme1n1p1", "259:8")
                .partition("nvme1n1", "nvme1n1p2", "259:2")
                .partition("nvme1n1", "nvme1n1p3", "259:9");
        tree.holder("nvme1n1", "dm-0");
        port.nvme("0000:01:00.1").iommuGroup(5).memoryBuffer("nvme2", 2, 0x10205);
        port.nic("0000:01:00.2").driver("mlx5_core").iommuGroup(5);
        host.nvme("0000:00:07.0").driver("nvme");
    }

    @Test
    void listsWhoHasEachDriveAndHowToTakeIt() {
        makeDrives();
        assertThat(list())
                .containsExactly(
                        "Address       Driver    Group  CMB                   Namespaces",
                        "0000:00:04.0  vfio-pci  3      ?",
                        "0000:00:05.0  nvme      4      16 MiB                nvme0n1",
                        "0000:00:07.0  nvme      none   ?",
                        "0000:01:00.0  nvme      5      ?                     nvme1n1",
                        "0000:01:00.1  none      5      16 MiB, not for data",
                        "0000:00:07.0 is in no IOMMU group: turn on the IOMMU in the firmware (VT-d, AMD-Vi) and, on Intel,"
                                + " by the kernel argument intel_iommu=on",
                        "0000:01:00.0 is in use: nvme1n1 is part of dm-0, nvme1n1p1 is mounted on /boot, nvme1n1p2 is"
                                + " mounted on /, nvme1n1p3 is swap space; end that first, or take another drive",
                        "0000:01:00.0 shares IOMMU group 5 with 0000:00:06.0 (pcieport), 0000:01:00.1, 0000:01:00.2"
                                + " (mlx5_core); unbind or bind to vfio-pci too: 0000:01:00.2",
                        "0000:01:00.1 shares IOMMU group 5 with 0000:00:06.0 (pcieport), 0000:01:00.0 (nvme), 0000:01:00.2"
                                + " (mlx5_core); unbind or bind to vfio-pci too: 0000:01:00.0, 0000:01:00.2",
                        "",
                        "to give 0000:00:05.0 to user space, which takes nvme0n1 away:",
                        "  modprobe -a vfio-pci vfio_iommu_type1",
                        "  echo vfio-pci > /sys/bus/pci/devices/0000:00:05.0/driver_override",
                        "  echo 0000:00:05.0 > /sys/bus/pci/devices/0000:00:05.0/driver/unbind",
                        "  echo 0000:00:05.0 > /sys/bus/pci/drivers_probe",
                        "",
                        "to give 0000:01:00.1 to user space:",
                        "  modprobe -a vfio-pci vfio_iommu_type1",
                        "  echo vfio-pci > /sys/bus/pci/devices/0000:01:00.1/driver_override",
                        "  echo 0000:01:00.1 > /sys/bus/pci/drivers_probe");
    }

    @Test
    void listsTheSameInJson() {
        makeDrives();
        assertThat(String.join("", list("-o", "json")).replaceAll("\\s+", ""))
                .contains(
                        "{\"pci_address\":\"0000:00:05.0\",\"driver\":\"nvme\",\"iommu_group\":4,\"group_mates\":[],"
                                + "\"namespaces\":[{\"name\":\"nvme0n1\",\"uses\":[]}],\"cmb_bytes\":16777216,\"cmb_bar\":2,"
                                + "\"cmb_takes_data\":true,\"refusal\":\"0000:00:05.0belongstodrivernvme:",
                        "{\"pci_address\":\"0000:01:00.2\",\"driver\":\"mlx5_core\",\"in_the_way\":true}",
                        "\"uses\":[\"nvme1n1ispartofdm-0\",",
                        "\"refusal\":\"\",\"bind_commands\":[]",
                        "\"bind_commands\":[\"modprobe-avfio-pcivfio_iommu_type1\",");
    }

    @Test
    void aMachineWithoutDrivesHasNone() {
        tree.hostBridge("0000:00", SysfsTree.OTHER_HOST_BRIDGE);
        assertThat(list()).containsExactly("this machine has no NVMe functions");
    }

    @Test
    void aPathThatOtherControllersShareCounts() {
        SysfsTree.Node drive = tree.hostBridge("0000:00", SysfsTree.OTHER_HOST_BRIDGE)
                .nvme("0000:00:04.0")
                .driver("nvme")
                .iommuGroup(1);
        drive.blockDevice("nvme0c0n1", "259:7");
        tree.virtualBlockDevice("nvme0n1", "259:0");
        tree.mounts("259:0 /dev/nvme0n1 /data");
        assertThat(list())
                .contains("0000:00:04.0 is in use: nvme0n1 is mounted on /data; end that first, or take another"
                        + " drive");
    }

    @Test
    void printsItsHelp() {
        StringWriter err = new StringWriter();
        CommandLine command = Main.commandLine();
        command.setErr(new PrintWriter(err));
        assertThat(Main.launch(command, "pcie")).isEqualTo(2);
        assertThat(err.toString()).contains("Usage: nvmf pcie", "list");
    }
}

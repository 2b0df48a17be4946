package org.nvmf4j.pcie.vfio;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.pcie.PciAddress;
import org.nvmf4j.pcie.nvme.DmaMemory;
import org.nvmf4j.pcie.nvme.NvmeHardware;
import org.nvmf4j.testkit.SysfsTree;

class VfioDrivesTest {
    private static final PciAddress DRIVE = PciAddress.parse("0000:04:00.0");
    private static final PciAddress OTHER = PciAddress.parse("0000:05:00.0");
    private static final PciAddress SECOND_OF_OTHER = PciAddress.parse("0000:05:00.1");
    private static final PciAddress KERNELS = PciAddress.parse("0000:06:00.0");

    private final FakeKernel kernel = new FakeKernel();
    private int containers;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path dir;

    @SuppressWarnings("NullAway.Init")
    private VfioDrives drives;

    /** As another process has them. */
    @SuppressWarnings("NullAway.Init")
    private VfioDrives others;

    @BeforeEach
    void makeTree() {
        SysfsTree tree = new SysfsTree(dir.resolve("sys"));
        SysfsTree.Node host = tree.hostBridge("0000:00", SysfsTree.OTHER_HOST_BRIDGE);
        host.nvme(DRIVE.toString()).driver("vfio-pci").iommuGroup(12);
        host.nvme(OTHER.toString()).driver("vfio-pci").iommuGroup(13);
        host.nvme(SECOND_OF_OTHER.toString()).driver("vfio-pci").iommuGroup(13);
        host.nvme(KERNELS.toString()).driver("nvme").iommuGroup(14).blockDevice("nvme6n1", "259:0");
        drives = process(tree);
        others = process(tree);
    }

    private VfioDrives process(SysfsTree tree) {
        return new VfioDrives(buffer -> {}, () -> {
            containers++;
            return new VfioContainer(kernel, tree.root(), Path.of("/dev/vfio"));
        });
    }

    @Test
    void allDrivesShareAContainerAsLongAsOneIsOpen() throws IOException {
        NvmeHardware drive = drives.open(DRIVE);
        NvmeHardware other = drives.open(OTHER);
        assertThat(containers).isOne();
        assertThat(drive.dma()).isSameAs(other.dma());
        drive.close();
        drive.close();
        try (DmaMemory memory = other.dma().allocate(4096)) {
            assertThat(memory.busAddress()).isPositive();
        }
        other.close();
        assertThat(kernel.openFiles()).isZero();
        drives.open(DRIVE).close();
        assertThat(containers).isEqualTo(2);
        assertThat(kernel.openFiles()).isZero();
    }

    @Test
    void leavesNothingOpenOfADriveThatCannotBeTaken() throws IOException {
        assertThatThrownBy(() -> drives.open(KERNELS)).hasMessageContaining(KERNELS.toString());
        assertThat(kernel.openFiles()).isZero();
        NvmeHardware drive = drives.open(DRIVE);
        assertThatThrownBy(() -> drives.open(KERNELS)).hasMessageContaining(KERNELS.toString());
        assertThat(drive.registers().read32(ControllerProperties.CSTS)).isNotEqualTo(-1);
        drive.close();
        assertThat(kernel.openFiles()).isZero();
    }

    @Test
    void aDriveThatIsGivenBackIsOthersToHaveAndItsMemoryStays() throws IOException {
        NvmeHardware drive = drives.open(DRIVE);
        DmaMemory memory = drive.dma().allocate(4096);
        assertThat(drive.isWanted()).isFalse();
        drive.giveBack();
        assertThat(drive.registers().read32(ControllerProperties.CSTS)).isEqualTo(-1);
        assertThat(kernel.mappings())
                .as("the last drive takes the address space along")
                .isZero();
        assertThat(kernel.openFiles()).isZero();
        others.open(DRIVE).close();
        memory.segment().fill((byte) 1);
        assertThatThrownBy(() -> drive.dma().allocate(4096)).hasMessage("the VFIO container is closed");
        NvmeHardware again = drives.open(DRIVE);
        try (DmaMemory mapped = again.dma().allocate(4096)) {
            assertThat(mapped.busAddress()).isPositive();
            memory.close();
            drive.close();
            assertThat(kernel.mappings()).isOne();
        }
        again.close();
        assertThat(kernel.openFiles()).isZero();
    }

    @Test
    void aGroupIsOthersToHaveWithTheLastOfItsFunctions() throws IOException {
        NvmeHardware drive = drives.open(DRIVE);
        NvmeHardware one = drives.open(OTHER);
        NvmeHardware two = drives.open(SECOND_OF_OTHER);
        DmaMemory memory = one.dma().allocate(4096);
        one.giveBack();
        assertThatThrownBy(() -> others.open(OTHER)).hasMessageContaining("/dev/vfio/13 is in use");
        two.giveBack();
        NvmeHardware anothers = others.open(OTHER);
        assertThat(kernel.mappings()).as("of the drive that is left").isOne();
        memory.close();
        assertThat(kernel.mappings()).isZero();
        for (NvmeHardware hardware : List.of(anothers, one, two, drive)) {
            hardware.close();
        }
        assertThat(kernel.openFiles()).isZero();
    }
}

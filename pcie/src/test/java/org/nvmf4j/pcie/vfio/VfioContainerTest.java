package org.nvmf4j.pcie.vfio;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nvmf4j.linux.MappedFile;
import org.nvmf4j.linux.SystemErrors;
import org.nvmf4j.pcie.PciAddress;
import org.nvmf4j.pcie.nvme.DmaMemory;
import org.nvmf4j.testkit.Seeds;
import org.nvmf4j.testkit.SysfsTree;

class VfioContainerTest {
    private static final PciAddress DRIVE = PciAddress.parse("0000:04:00.0");
    private static final PciAddress OTHER = PciAddress.parse("0000:05:00.0");
    private static final PciAddress NIC = PciAddress.parse("0000:04:00.1");
    private static final PciAddress KERNELS = PciAddress.parse("0000:06:00.0");
    private static final PciAddress MOUNTED = PciAddress.parse("0000:07:00.0");
    private static final PciAddress UNBOUND = PciAddress.parse("0000:08:00.0");
    private static final PciAddress NO_GROUP = PciAddress.parse("0000:09:00.0");

    private final FakeKernel kernel = new FakeKernel();

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path dir;

    @SuppressWarnings("NullAway.Init")
    private SysfsTree tree;

    @BeforeEach
    void makeTree() {
        tree = new SysfsTree(dir.resolve("sys")).mounts("259:1 /dev/nvme7n1 /srv");
        SysfsTree.Node host = tree.hostBridge("0000:00", SysfsTree.OTHER_HOST_BRIDGE);
        SysfsTree.Node port = host.rootPort("0000:00:01.0").driver("pcieport").iommuGroup(12);
        port.nvme(DRIVE.toString())
                .driver("vfio-pci")
                .iommuGroup(12)
                .resources("0x0000000100000000 0x00000001000fffff 0x0000000000140204", "0x0 0x0 0x0");
        port.add(NIC.toString(), "8086:10d3", "020000", 0).driver("e1000e").iommuGroup(12);
        host.nvme(OTHER.toString()).driver("vfio-pci").iommuGroup(13);
        host.nvme(KERNELS.toString()).driver("nvme").iommuGroup(14).blockDevice("nvme6n1", "259:0");
        host.nvme(MOUNTED.toString()).driver("nvme").iommuGroup(15).blockDevice("nvme7n1", "259:1");
        host.nvme(UNBOUND.toString()).iommuGroup(16);
        host.nvme(NO_GROUP.toString()).driver("vfio-pci");
    }

    private VfioContainer container() throws IOException {
        return new VfioContainer(kernel, tree.root(), Path.of("/dev/vfio"));
    }

    @Test
    void givesMemoryThatIsZeroedMappedAndKeptOutOfBars() throws IOException {
        try (VfioContainer container = container();
                VfioDevice device = container.open(DRIVE)) {
            DmaMemory memory = container.allocate(5000);
            assertThat(memory.segment().byteSize()).isEqualTo(8192);
            assertThat(memory.segment().toArray(ValueLayout.JAVA_BYTE)).containsOnly(0);
            assertThat(memory.busAddress()).as("above the BAR of sysfs").isEqualTo(0x1_0010_0000L);
            assertThat(kernel.mappings()).isOne();
            memory.close();
            memory.close();
            assertThat(kernel.mappings()).isZero();
            assertThat(device.busAddress(0)).isEqualTo(FakeKernel.BAR_ADDRESS);
        }
        assertThat(kernel.openFiles()).isZero();
    }

    @Test
    void mapsMemoryThatIsThereAndLeavesItToItsOwner() throws IOException {
        try (VfioContainer container = container();
                Arena arena = Arena.ofConfined()) {
            container.open(DRIVE);
            MemorySegment memory = arena.allocate(8192, 4096);
            try (DmaMemory mapped = container.map(memory)) {
                assertThat(mapped.segment()).isEqualTo(memory);
                assertThat(kernel.mappings()).isOne();
            }
            assertThat(kernel.mappings()).isZero();
            memory.set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
            assertThatThrownBy(() -> container.map(memory.asSlice(64, 4096)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("only whole pages can be mapped");
        }
    }

    @Test
    void takesWhatIommusOfOldTranslate() throws IOException {
        kernel.ranges = new long[0][];
        try (VfioContainer container = container()) {
            container.open(DRIVE);
            try (DmaMemory memory = container.allocate(4096)) {
                assertThat(memory.busAddress()).isBetween(1L << 32, 1L << 39);
            }
        }
    }

    @Test
    void everythingIsUndoneInAnyOrder() {
        Seeds.each(100, seed -> {
            Random random = new Random(seed);
            VfioContainer container = container();
            VfioDevice drive = container.open(DRIVE);
            VfioDevice other = container.open(OTHER);
            VfioRegisters registers = drive.registers();
            registers.busMaster(true);
            List<AutoCloseable> all = new ArrayList<>(List.of(container, drive, other, registers));
            all.add(drive.interrupts(2));
            for (int i = 0; i < 4; i++) {
                all.add(container.allocate(4096L << random.nextInt(12)));
            }
            Collections.shuffle(all, random);
            for (AutoCloseable one : all) {
                one.close();
                if (random.nextInt(4) == 0) {
                    one.close();
                }
            }
            assertThat(kernel.openFiles()).isZero();
            assertThat(kernel.mappings()).isZero();
            assertThat(kernel.closedAsMaster).isFalse();
            assertThat(registers.read32(0)).isEqualTo(-1);
            registers.write32(0, 7);
            assertThatThrownBy(() -> container.open(DRIVE)).hasMessage("the VFIO container is closed");
            assertThatThrownBy(() -> drive.busAddress(0)).hasMessage(DRIVE + " is closed");
        });
    }

    @Test
    void registersAreThoseBehindTheBar() throws IOException {
        try (VfioContainer container = container();
                VfioDevice device = container.open(DRIVE);
                VfioRegisters registers = device.registers()) {
            registers.write64(8, 0x1122_3344_5566_7788L);
            assertThat(registers.read64(8)).isEqualTo(0x1122_3344_5566_7788L);
            assertThat(registers.read32(12)).isEqualTo(0x1122_3344);
            registers.write32(0x1004, 9);
            assertThat(kernel.registers().get(ValueLayout.JAVA_INT, 0x1004)).isEqualTo(9);
            device.reset();
            assertThat(kernel.resets).isOne();
            assertThat(registers.read32(0x1004)).isZero();
            assertThat(device.isRemovalRequested()).isFalse();
            assertThat(kernel.eventFds(Abi.Constants.PCI_REQ_IRQ_INDEX))
                    .containsExactly(device.requests().fd());
            device.requests().add();
            assertThat(registers.read32(0)).as("the kernel waits for us").isEqualTo(-1);
            assertThat(registers.read64(8)).isEqualTo(-1);
            assertThat(device.isRemovalRequested()).isTrue();
        }
    }

    @Test
    void aFunctionThatSomebodyElseResetsHasNotGone() throws IOException {
        try (VfioContainer container = container();
                VfioDevice device = container.open(DRIVE);
                VfioRegisters registers = device.registers()) {
            registers.write32(0, 7);
            kernel.resetByOthers();
            assertThat(registers.read32(0)).isZero();
            kernel.resetByOthers();
            assertThat(registers.read64(0)).isZero();
            kernel.registers().fill((byte) -1);
            assertThat(registers.read32(0)).isEqualTo(-1);
            kernel.refuse("pread", SystemErrors.EIO);
            kernel.refuse("pwrite", SystemErrors.EIO);
            assertThat(registers.read64(0)).as("a function that was pulled out").isEqualTo(-1);
        }
    }

    /** As often as it takes to have it compiled, since there a fault may be told late. */
    @Test
    void aFunctionWhoseMemoryFaultsHasGone() throws IOException {
        Path file = Files.write(dir.resolve("memory"), new byte[8192]);
        try (VfioContainer container = container();
                VfioDevice device = container.open(DRIVE);
                VfioRegisters registers = device.registers();
                Arena arena = Arena.ofShared()) {
            MemorySegment memory = MappedFile.map(arena, file, 0, 8192);
            MemorySegment commands = arena.allocate(8192, 64);
            for (int i = 0; i < 30_000; i++) {
                commands.set(ValueLayout.JAVA_INT, 64, i);
                registers.copy(commands, memory, 64, 128);
            }
            assertThat(memory.get(ValueLayout.JAVA_INT, 64)).isEqualTo(29_999);
            assertThat(registers.read32(0)).isZero();
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                channel.truncate(0);
            }
            registers.copy(commands, memory, 64, 128);
            registers.write32(0, 7);
            assertThat(kernel.registers().get(ValueLayout.JAVA_INT, 0))
                    .as("a doorbell for what is not there")
                    .isZero();
            assertThat(registers.read32(0)).isEqualTo(-1);
            registers.copy(commands, memory, 64, 128);
        }
    }

    @Test
    void aFunctionThatSomebodyElseTurnsOffHasNotGone() throws IOException {
        try (VfioContainer container = container();
                VfioDevice device = container.open(DRIVE);
                VfioRegisters registers = device.registers()) {
            kernel.turnOff();
            assertThat(registers.read32(0)).isZero();
            assertThat(registers.read64(0)).isZero();
            registers.answer();
            registers.write32(0, 7);
            assertThat(registers.read32(0)).isEqualTo(7);
            kernel.refuse("pwrite", SystemErrors.EIO);
            registers.answer();
            assertThat(registers.read32(0)).as("a function that was pulled out").isEqualTo(-1);
        }
    }

    @Test
    void interruptsAreCountedByVector() throws IOException {
        try (VfioContainer container = container();
                VfioDevice device = container.open(DRIVE)) {
            assertThat(device.vectors()).isEqualTo(FakeKernel.VECTORS);
            assertThatThrownBy(() -> device.interrupts(4)).hasMessage("0000:04:00.0 has 3 MSI-X vectors, not 4");
            try (VfioInterrupts interrupts = device.interrupts(2)) {
                assertThat(kernel.eventFds(Abi.Constants.PCI_MSIX_IRQ_INDEX))
                        .containsExactly(
                                interrupts.vector(0).fd(), interrupts.vector(1).fd());
                assertThatThrownBy(() -> device.interrupts(1)).isInstanceOf(IllegalStateException.class);
            }
            assertThat(kernel.eventFds(Abi.Constants.PCI_MSIX_IRQ_INDEX)).isEmpty();
            device.interrupts(1).close();
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0000:0a:00.0 | there is no PCI function 0000:0a:00.0; 'nvmf pcie list' shows the NVMe functions that"
                        + " there are",
                "0000:06:00.0 | 0000:06:00.0 belongs to driver nvme: bind it to vfio-pci ('nvmf pcie list' says how)",
                "0000:07:00.0 | 0000:07:00.0 is in use: nvme7n1 is mounted on /srv; end that first, or take another"
                        + " drive",
                "0000:08:00.0 | 0000:08:00.0 has no driver: bind it to vfio-pci ('nvmf pcie list' says how)",
                "0000:09:00.0 | 0000:09:00.0 is in no IOMMU group: turn on the IOMMU in the firmware (VT-d, AMD-Vi)"
                        + " and, on Intel, by the kernel argument intel_iommu=on"
            })
    void refusesWhatIsNotOursBeforeItTouchesIt(String address, String message) throws IOException {
        try (VfioContainer container = container()) {
            assertThatThrownBy(() -> container.open(PciAddress.parse(address)))
                    .isInstanceOf(IOException.class)
                    .hasMessage(message);
            assertThat(kernel.openFiles()).isOne();
        }
        assertThat(kernel.openFiles()).isZero();
    }

    @Test
    void namesWhoStandsInTheWayOfAGroup() throws IOException {
        kernel.viable = false;
        try (VfioContainer container = container()) {
            assertThatThrownBy(() -> container.open(DRIVE))
                    .hasMessage("IOMMU group 12 of 0000:04:00.0 has functions that other drivers use: 0000:04:00.1"
                            + " (e1000e); bind these to vfio-pci too, or unbind them");
        }
        assertThat(kernel.openFiles()).isZero();
    }

    private void refused(String call, int errno, String message) {
        kernel.refuse(call, errno);
        assertThatThrownBy(() -> {
                    try (VfioContainer container = container()) {
                        container.open(DRIVE);
                        container.allocate(8192);
                    }
                })
                .isInstanceOf(IOException.class)
                .hasMessage(message);
        assertThat(kernel.openFiles()).isZero();
        assertThat(kernel.mappings()).isZero();
    }

    @Test
    void saysWhatToDoWhereVfioIsMissing() {
        refused("open vfio", SystemErrors.ENOENT, "there is no VFIO here (/dev/vfio/vfio): run 'modprobe vfio-pci'");
        refused(
                "open vfio",
                SystemErrors.EACCES,
                "no permission to open /dev/vfio/vfio: run as root, or 'chown USER /dev/vfio/vfio'");
    }

    @Test
    void saysWhatToDoWhereTheKernelHasNoTypeOneIommu() {
        refused("no type 1", 1, "VFIO has no type 1 IOMMU here: run 'modprobe vfio_iommu_type1'");
    }

    @Test
    void refusesAVersionThatItDoesNotKnow() {
        kernel.version = 7;
        assertThatThrownBy(this::container).hasMessage("this kernel's VFIO has version 7, and only 0 is known here");
        assertThat(kernel.openFiles()).isZero();
    }

    @Test
    void saysWhatToDoAboutAGroupThatIsNotToBeHad() {
        refused(
                "open 12",
                SystemErrors.EACCES,
                "no permission to open /dev/vfio/12: run as root, or 'chown USER /dev/vfio/12'");
        refused(
                "open 12",
                SystemErrors.EBUSY,
                "/dev/vfio/12 is in use, by another process or by this one: stop it first ('fuser -v /dev/vfio/12' names"
                        + " it)");
        refused(
                "open 12",
                SystemErrors.ENOENT,
                "/dev/vfio/12 is not there although its function is bound to vfio-pci: bind it again");
    }

    @Test
    void saysWhatToDoWhereInterruptsAreNotRemapped() {
        refused(
                "0x3b66",
                SystemErrors.EPERM,
                "the IOMMU does not remap interrupts, so that VFIO keeps 0000:04:00.0 from user space: turn on interrupt"
                        + " remapping in the firmware, or, where all devices are trusted, load vfio_iommu_type1 with"
                        + " allow_unsafe_interrupts=1");
    }

    @Test
    void saysWhatToDoWhereMemoryCannotBeLocked() {
        refused(
                "0x3b71",
                SystemErrors.ENOMEM,
                "memory of 8192 bytes cannot be locked for devices: run as root or raise the limit (ulimit -l,"
                        + " LimitMEMLOCK= of systemd)");
        refused(
                "0x3b71",
                SystemErrors.ENOSPC,
                "no more mappings for devices: load vfio_iommu_type1 with a larger dma_entry_limit");
    }

    @Test
    void givesEverythingBackWhereAFunctionDoesNotOpen() {
        refused("0x3b6a", SystemErrors.ENODEV, "0000:04:00.0 was unplugged or given to another driver just now");
    }

    @Test
    void givesEverythingBackWhereAFunctionCannotBeDescribed() {
        refused("0x3b6c", SystemErrors.EINVAL, "0x3b6c: EINVAL (invalid argument)");
    }
}

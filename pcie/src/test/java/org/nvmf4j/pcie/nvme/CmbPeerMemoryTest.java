package org.nvmf4j.pcie.nvme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nvmf4j.pcie.CmbPeerMemory;
import org.nvmf4j.pcie.PciAddress;
import org.nvmf4j.pcie.SysfsPeerMemoryProvider;
import org.nvmf4j.target.spi.PeerBlock;
import org.nvmf4j.target.spi.PeerClient;
import org.nvmf4j.target.spi.Reach;
import org.nvmf4j.testkit.SysfsTree;

class CmbPeerMemoryTest {
    private static final String DRIVE = "0000:03:00.0";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path dir;

    private final SimulatedNvme device = new SimulatedNvme(1);
    private final SimulatedCmb bars = new SimulatedCmb();

    @SuppressWarnings("NullAway.Init")
    private SysfsTree.Node drive;

    @SuppressWarnings("NullAway.Init")
    private SysfsTree tree;

    @BeforeEach
    void makeTree() {
        tree = new SysfsTree(dir.resolve("sys"));
        SysfsTree.Node host = tree.hostBridge("0000:00", SysfsTree.OTHER_HOST_BRIDGE);
        SysfsTree.Node upstream = host.rootPort("0000:00:01.0").switchUpstreamPort("0000:01:00.0");
        drive = upstream.switchDownstreamPort("0000:02:00.0").nvme(DRIVE).driver("vfio-pci");
        upstream.switchDownstreamPort("0000:02:01.0").nvme("0000:04:00.0");
        host.rootPort("0000:00:02.0").nvme("0000:06:00.0");
    }

    private CmbPeerMemory memory() throws IOException {
        device.cmb = bars;
        NvmeCmb cmb = Objects.requireNonNull(NvmeCmb.find(device, bars));
        return new CmbPeerMemory(PciAddress.parse(DRIVE), cmb, tree.root());
    }

    private static PeerBlock block(CmbPeerMemory memory, long bytes) throws IOException {
        return Optional.ofNullable(memory.allocate(bytes)).orElseThrow();
    }

    @Test
    void givesWholePagesAndTakesThemBack() throws IOException {
        CmbPeerMemory memory = memory();
        assertThat(memory.pciAddress()).isEqualTo(DRIVE);
        assertThat(memory.isPublished()).isTrue();
        assertThat(memory.freeBytes()).isEqualTo(memory.sizeBytes()).isEqualTo(SimulatedCmb.BYTES);
        PeerBlock one = block(memory, 5000);
        PeerBlock two = block(memory, SimulatedCmb.BYTES - 8192);
        assertThat(memory.freeBytes()).isZero();
        assertThat(memory.allocate(1)).isNull();
        assertThat(two.busAddress()).hasValue(SimulatedCmb.BAR_ADDRESS + 8192);
        two.segment().set(ValueLayout.JAVA_BYTE, 0, (byte) 7);
        assertThat(bars.memory().get(ValueLayout.JAVA_BYTE, 8192)).isEqualTo((byte) 7);
        one.close();
        one.close();
        assertThat(memory.freeBytes()).isEqualTo(8192);
        PeerBlock three = block(memory, 8192);
        assertThat(three.busAddress()).hasValue(SimulatedCmb.BAR_ADDRESS);
        memory.close();
        assertThat(memory.isPresent()).isFalse();
        assertThat(memory.freeBytes()).isZero();
        assertThatThrownBy(() -> memory.allocate(1)).hasMessage(DRIVE + " has vanished");
        two.segment().set(ValueLayout.JAVA_BYTE, 0, (byte) 8); // it is mapped as long as somebody has a block
        assertThat(bars.maps).isOne();
        two.close();
        three.close();
        assertThat(bars.maps).isZero();
    }

    @Test
    void isNotPublishedWhereItDoesNotTakeDataBothWays() throws IOException {
        bars.cmbsz &= ~(1 << 4); // WDS
        try (CmbPeerMemory memory = memory()) {
            assertThat(memory.isPublished()).isFalse();
            assertThat(memory.publisher()).contains("does not take data both ways");
        }
    }

    @Test
    void isOfferedUntilItIsClosedOrItsDriveUnplugged() throws IOException {
        SysfsPeerMemoryProvider provider = new SysfsPeerMemoryProvider(tree.root(), List.of());
        CmbPeerMemory first = memory();
        provider.add(first);
        assertThat(provider.memories()).isEqualTo(List.of(first));
        first.close();
        assertThat(provider.memories()).isEmpty();
        CmbPeerMemory second = memory();
        provider.add(second);
        assertThat(provider.memories()).isEqualTo(List.of(second));
        drive.unplug();
        assertThat(provider.memories()).isEmpty();
        assertThat(second.isPresent()).isFalse();
        second.close();
        assertThat(bars.maps).isZero();
    }

    @Test
    void isReachedAsTheTopologyHasIt() throws IOException {
        SysfsPeerMemoryProvider provider = new SysfsPeerMemoryProvider(tree.root(), List.of());
        try (CmbPeerMemory memory = memory()) {
            assertThat(provider.reach(memory, new PeerClient.PciFunction(DRIVE, "the drive")))
                    .isEqualTo(Reach.peerToPeer(0));
            assertThat(provider.reach(memory, new PeerClient.PciFunction("0000:04:00.0", "the drive")))
                    .isEqualTo(Reach.peerToPeer(4));
            assertThat(provider.reach(memory, new PeerClient.PciFunction("0000:06:00.0", "the drive"))
                            .kind())
                    .isEqualTo(Reach.Kind.NOT);
            assertThat(provider.reach(memory, new PeerClient.File(Path.of("/dev/nvme9n1")))
                            .reason())
                    .startsWith("Linux takes no BAR for direct I/O");
        }
    }
}

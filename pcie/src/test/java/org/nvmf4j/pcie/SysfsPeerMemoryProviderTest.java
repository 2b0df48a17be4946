package org.nvmf4j.pcie;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nvmf4j.target.spi.PeerBlock;
import org.nvmf4j.target.spi.PeerClient;
import org.nvmf4j.target.spi.PeerMemory;
import org.nvmf4j.target.spi.Reach;
import org.nvmf4j.testkit.SysfsTree;

class SysfsPeerMemoryProviderTest {
    private static final long MIB = 1 << 20;
    private static final BarRange BAR = BarRange.parse("04:00.0/resource2@4K+64K");

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path dir;

    @SuppressWarnings("NullAway.Init")
    private SysfsTree tree;

    @SuppressWarnings("NullAway.Init")
    private SysfsTree.Node upstream;

    @BeforeEach
    void makeTree() {
        tree = new SysfsTree(dir.resolve("sys"));
        SysfsTree.Node host = tree.hostBridge("0000:00", SysfsTree.OTHER_HOST_BRIDGE);
        upstream = host.rootPort("0000:00:01.0").switchUpstreamPort("0000:01:00.0");
        upstream.switchDownstreamPort("0000:02:00.0")
                .nvme("0000:03:00.0")
                .p2pmem(2 * MIB, MIB, true)
                .blockDevice("nvme0n1", "259:0");
        upstream.switchDownstreamPort("0000:02:01.0").nvme("0000:04:00.0").resource(2, MIB);
        upstream.switchDownstreamPort("0000:02:02.0").nic("0000:05:00.0").rdmaDevice("mlx5_0");
        SysfsTree.Node other = host.rootPort("0000:00:02.0");
        other.nvme("0000:06:00.0").p2pmem(MIB, MIB, false);
        tree.softRdmaDevice("rxe0", "eth0");
    }

    private SysfsPeerMemoryProvider provider(BarRange... bars) throws IOException {
        return new SysfsPeerMemoryProvider(tree.root(), List.of(bars));
    }

    private static PeerBlock allocate(PeerMemory memory, long bytes) throws IOException {
        return Objects.requireNonNull(memory.allocate(bytes));
    }

    @Test
    void listsPoolsAndOfferedBarsByAddress() throws IOException {
        assertThat(provider(BAR).memories())
                .extracting(m -> m.pciAddress() + " " + m.sizeBytes() + " " + m.freeBytes() + " " + m.isPublished()
                        + " " + m.isPresent() + " " + m.publisher())
                .containsExactly(
                        "0000:03:00.0 2097152 1048576 true true its driver",
                        "0000:04:00.0 65536 65536 true true the user (0000:04:00.0/resource2@4096+65536)",
                        "0000:06:00.0 1048576 1048576 false true its driver");
        assertThat(provider().memories())
                .extracting(PeerMemory::pciAddress)
                .containsExactly("0000:03:00.0", "0000:06:00.0");
    }

    @Test
    void tellsWhoReachesAMemory() throws IOException {
        SysfsPeerMemoryProvider provider = provider();
        PeerMemory near = provider.memories().getFirst();
        PeerMemory far = provider.memories().getLast();
        PeerClient nic = new PeerClient.RdmaDevice("mlx5_0");
        assertThat(provider.reach(near, nic)).isEqualTo(Reach.peerToPeer(4));
        assertThat(provider.reach(near, new PeerClient.File(Path.of("/dev/nvme0n1"))))
                .isEqualTo(Reach.peerToPeer(0));
        assertThat(provider.reach(far, nic).kind()).isEqualTo(Reach.Kind.NOT);
        assertThat(provider.reach(far, nic).reason())
                .contains("0000:06:00.0", "NIC 0000:05:00.0", "not known to route");
        assertThat(provider.reach(near, new PeerClient.PciFunction("0000:04:00.0", "the drive")))
                .isEqualTo(Reach.peerToPeer(4));
        assertThat(provider.reach(near, new PeerClient.PciFunction("nonsense", "the drive")))
                .isEqualTo(Reach.not("'nonsense' is no PCI address"));
        assertThat(provider.reach(near, new PeerClient.PciFunction("0000:09:00.0", "the drive")))
                .isEqualTo(Reach.not("there is no PCI function 0000:09:00.0"));
    }

    @Test
    void leavesToTheCpuWhatIsNoPciDevice() throws IOException {
        SysfsPeerMemoryProvider provider = provider();
        PeerMemory memory = provider.memories().getFirst();
        for (PeerClient client : List.of(
                new PeerClient.RdmaDevice("rxe0"),
                new PeerClient.RdmaDevice("softroce0"),
                new PeerClient.File(dir),
                new PeerClient.Cpu("the null backend"))) {
            Reach reach = provider.reach(memory, client);
            assertThat(reach.kind()).as(client.description()).isEqualTo(Reach.Kind.WITH_THE_CPU);
            assertThat(reach.reason()).as(client.description()).isNotEmpty();
        }
    }

    @Test
    void keepsDirectIoFromBars() throws IOException {
        SysfsPeerMemoryProvider provider = provider(BAR);
        PeerMemory bar = provider.memories().get(1);
        for (Path path : List.of(Path.of("/dev/nvme0n1"), dir)) {
            assertThat(provider.reach(bar, new PeerClient.File(path)))
                    .isEqualTo(Reach.not("Linux takes no BAR for direct I/O, only p2pmem;"
                            + " direct=off on the namespace has the CPU copy instead"));
        }
        assertThat(provider.reach(bar, new PeerClient.RdmaDevice("mlx5_0"))).isEqualTo(Reach.peerToPeer(4));
        assertThat(provider.reach(bar, new PeerClient.Cpu("the page cache")).kind())
                .isEqualTo(Reach.Kind.WITH_THE_CPU);
    }

    @Test
    void blocksOfABarAreItsBytesAndComeBack() throws IOException {
        PeerMemory memory = provider(BAR).memories().get(1);
        PeerBlock first = allocate(memory, 10_000);
        PeerBlock second = allocate(memory, 4096);
        assertThat(first.segment().byteSize()).isEqualTo(10_000);
        assertThat(memory.freeBytes()).isEqualTo(65_536 - 4 * 4096);
        first.segment().fill((byte) 1);
        second.segment().fill((byte) 2);
        byte[] bar = Files.readAllBytes(tree.function("0000:04:00.0").folder().resolve("resource2"));
        assertThat(bar[4095]).isZero();
        assertThat(bar[4096]).isEqualTo((byte) 1);
        assertThat(bar[4096 + 9999]).isEqualTo((byte) 1);
        assertThat(bar[4096 + 3 * 4096]).isEqualTo((byte) 2);

        assertThat(memory.allocate(65_536)).isNull();
        first.close();
        first.close();
        assertThat(memory.freeBytes()).isEqualTo(65_536 - 4096);
        assertThatThrownBy(() -> first.segment().get(ValueLayout.JAVA_BYTE, 0))
                .isInstanceOf(IllegalStateException.class);
        assertThat(memory.allocate(65_536 - 4096)).as("no piece is that large").isNull();
        PeerBlock again = allocate(memory, 8192);
        again.segment().fill((byte) 3);
        assertThat(second.segment().get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) 2);
        again.close();
        second.close();
        allocate(memory, 65_536).close();
    }

    @Test
    void blocksOfAPoolAreMappingsOfItsAllocateFile() throws IOException {
        PeerMemory memory = provider().memories().getFirst();
        try (PeerBlock block = allocate(memory, 5000)) {
            MemorySegment segment = block.segment();
            assertThat(segment.byteSize()).isEqualTo(5000);
            segment.set(ValueLayout.JAVA_BYTE, 4999, (byte) 9);
            assertThat(Files.readAllBytes(tree.function("0000:03:00.0").folder().resolve("p2pmem/allocate"))[4999])
                    .isEqualTo((byte) 9);
        }
        assertThat(memory.allocate(1L << 60)).as("the kernel says ENOMEM").isNull();
        assertThatThrownBy(() -> memory.allocate(0)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void saysThatAPoolOfAnOldKernelCannotBeAllocated() throws IOException {
        Files.delete(tree.function("0000:03:00.0").folder().resolve("p2pmem/allocate"));
        PeerMemory memory = provider().memories().getFirst();
        assertThat(memory.freeBytes()).isZero();
        assertThat(memory.publisher()).contains("Linux 6.2");
        assertThatThrownBy(() -> memory.allocate(4096))
                .isInstanceOf(IOException.class)
                .hasMessage("the p2pmem of 0000:03:00.0 cannot be allocated: that needs Linux 6.2");
    }

    @Test
    void noticesADeviceThatVanishesAndTakesItForAnotherWhenItComesBack() throws IOException {
        SysfsPeerMemoryProvider provider = provider(BAR);
        List<PeerMemory> before = provider.memories();
        PeerBlock block = allocate(before.get(1), 4096);
        assertThat(provider.memories()).as("the same objects").isEqualTo(before);

        tree.function("0000:03:00.0").unplug();
        tree.function("0000:04:00.0").unplug();
        assertThat(before.getFirst().isPresent()).isFalse();
        assertThat(before.get(1).isPresent()).isFalse();
        assertThat(before.get(1).freeBytes()).isZero();
        assertThatThrownBy(() -> before.get(1).allocate(4096))
                .isInstanceOf(IOException.class)
                .hasMessage("0000:04:00.0 has vanished");
        assertThatThrownBy(() -> before.getFirst().allocate(4096))
                .isInstanceOf(IOException.class)
                .hasMessage("0000:03:00.0 has vanished");
        assertThat(provider.memories()).containsExactly(before.getLast());
        assertThat(provider.reach(before.getFirst(), new PeerClient.RdmaDevice("mlx5_0")))
                .isEqualTo(Reach.not("there is no PCI function 0000:03:00.0"));
        block.close();

        tree.function("0000:02:01.0").nvme("0000:04:00.0").resource(2, MIB);
        List<PeerMemory> after = provider.memories();
        assertThat(after).extracting(PeerMemory::pciAddress).containsExactly("0000:04:00.0", "0000:06:00.0");
        assertThat(after.getFirst()).isNotSameAs(before.get(1));
        assertThat(after.getFirst().freeBytes()).isEqualTo(65_536);
        assertThat(before.get(1).isPresent()).isFalse();
    }

    @Test
    void refusesBarsThatAreNotThere() {
        assertThatThrownBy(() -> provider(BarRange.parse("04:00.0/resource0")))
                .hasMessage("0000:04:00.0/resource0: 0000:04:00.0 has no resource0 but resource2");
        assertThatThrownBy(() -> provider(BarRange.parse("09:00.0/resource0")))
                .hasMessage("0000:09:00.0/resource0: no PCI function 0000:09:00.0 in "
                        + tree.root().resolve("bus/pci/devices"));
        assertThatThrownBy(() -> provider(BarRange.parse("04:00.0/resource2@512K+1M")))
                .hasMessage("0000:04:00.0/resource2@524288+1048576: resource2 has only 1048576 bytes");
        assertThatThrownBy(() -> provider(BarRange.parse("04:00.0/resource2@1M")))
                .hasMessage("0000:04:00.0/resource2@1048576: resource2 has only 1048576 bytes");
    }

    @Test
    void readsRangesOfBars() {
        assertThat(BarRange.parse("0000:03:00.0/resource2"))
                .isEqualTo(new BarRange(PciAddress.parse("03:00.0"), 2, 0, 0))
                .hasToString("0000:03:00.0/resource2");
        assertThat(BarRange.parse("03:00.0/resource0@8192"))
                .isEqualTo(new BarRange(PciAddress.parse("03:00.0"), 0, 8192, 0))
                .hasToString("0000:03:00.0/resource0@8192");
        assertThat(BarRange.parse("03:00.0/resource5@1M+1G").lengthBytes()).isEqualTo(1 << 30);
        for (String wrong : List.of(
                "03:00.0",
                "03:00.0/resource6",
                "x/resource2",
                "03:00.0/resource2@1",
                "03:00.0/resource2@999999999999999G")) {
            assertThatThrownBy(() -> BarRange.parse(wrong)).as(wrong).isInstanceOf(IllegalArgumentException.class);
        }
    }
}

package org.nvmf4j.pcie;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
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
    void noTwoGiveOutTheSameBytes() throws IOException {
        PeerMemory mine = provider(BAR).memories().get(1);
        PeerMemory other = provider(BAR).memories().get(1);
        PeerMemory beside =
                provider(BarRange.parse("04:00.0/resource2@68K")).memories().get(1);
        allocate(other, 4096).close();
        PeerBlock first = allocate(mine, 4096);
        PeerBlock second = allocate(mine, 4096);
        first.close();
        allocate(mine, 8192).close();
        allocate(beside, 4096).close();
        assertThat(other.freeBytes()).as("looking locks nothing").isEqualTo(65_536);
        assertThatThrownBy(() -> other.allocate(4096))
                .isInstanceOf(IOException.class)
                .hasMessage("0000:04:00.0/resource2@4096+65536: in use by another process,"
                        + " or by another target in this process");
        second.close();
        try (PeerBlock _ = allocate(other, 4096)) {
            assertThatThrownBy(() -> mine.allocate(4096)).hasMessageContaining("in use");
        }
        allocate(mine, 4096).close();
    }

    @Test
    void offersEachByteOnce() throws IOException {
        assertThatThrownBy(() -> provider(BAR, BAR))
                .isInstanceOf(IOException.class)
                .hasMessage("0000:04:00.0/resource2@4096+65536 and 0000:04:00.0/resource2@4096+65536 overlap;"
                        + " offer each byte of a BAR once");
        assertThatThrownBy(() -> provider(BarRange.parse("04:00.0/resource2"), BAR))
                .hasMessageStartingWith("0000:04:00.0/resource2 and 0000:04:00.0/resource2@4096+65536 overlap");
        assertThatThrownBy(() -> provider(BAR, BarRange.parse("04:00.0/resource2@0+8K")))
                .hasMessageContaining(" and 0000:04:00.0/resource2@0+8192 overlap");
        tree.function("0000:04:00.0").resource(4, MIB);
        assertThat(provider(
                                BAR,
                                BarRange.parse("04:00.0/resource2@0+4K"),
                                BarRange.parse("04:00.0/resource2@68K"),
                                BarRange.parse("04:00.0/resource4"))
                        .memories())
                .hasSize(6);
    }

    @Test
    void leavesToTheKernelWhatItHasInAPool() throws IOException {
        tree.function("0000:03:00.0").resource(2, MIB);
        assertThatThrownBy(() -> provider(BarRange.parse("03:00.0/resource2")))
                .isInstanceOf(IOException.class)
                .hasMessage("0000:03:00.0/resource2: the kernel has the memory of 0000:03:00.0 in its p2pmem, perhaps"
                        + " this BAR; use p2pmem=0000:03:00.0 without --allow-raw-bar");
        SysfsPeerMemoryProvider provider = provider(BAR);
        tree.function("0000:04:00.0").p2pmem(MIB, MIB, true);
        try (LoggedWarnings logged = new LoggedWarnings()) {
            assertThat(provider.memories()).hasSize(3).doesNotHaveAnyElementsOfTypes(BarPeerMemory.class);
            provider.memories();
            assertThat(logged.take()).singleElement().asString().contains("04:00.0 in its p2pmem");
        }
    }

    @Test
    void warnsOnceOfEachDisappearanceOfABar() throws IOException {
        SysfsPeerMemoryProvider provider = provider(BAR);
        SysfsTree.Node drive = tree.function("0000:04:00.0");
        try (LoggedWarnings logged = new LoggedWarnings()) {
            for (int time = 0; time < 2; time++) {
                Files.delete(drive.folder().resolve("resource2"));
                for (int look = 0; look < 3; look++) {
                    assertThat(provider.memories()).hasSize(2);
                }
                assertThat(logged.take())
                        .containsExactly("0000:04:00.0/resource2@4096+65536: 0000:04:00.0 has no resource2,"
                                + " nor any other BAR");
                drive.resource(2, MIB);
                assertThat(provider.memories()).hasSize(3);
                assertThat(logged.take()).isEmpty();
            }
        }
    }

    @Test
    void saysThatWeMayNot() throws IOException {
        Path bar = tree.function("0000:04:00.0").folder().resolve("resource2");
        Path pool = tree.function("0000:03:00.0").folder().resolve("p2pmem/allocate");
        for (Path file : List.of(bar, pool)) {
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("r--------"));
        }
        assumeFalse(Files.isWritable(bar), "root may all");
        assertThatThrownBy(() -> provider(BAR))
                .isInstanceOf(IOException.class)
                .hasMessage("0000:04:00.0/resource2@4096+65536: resource2 cannot be read and written; run as root");
        PeerMemory memory = provider().memories().getFirst();
        assertThat(memory.freeBytes()).isZero();
        assertThat(memory.publisher()).isEqualTo("its driver (not to be had from user space: that needs root)");
        assertThatThrownBy(() -> memory.allocate(4096))
                .isInstanceOf(IOException.class)
                .hasMessage("the p2pmem of 0000:03:00.0 cannot be allocated: that needs root");
    }

    @Test
    void countsNumbersThatCannotBeAsNothing() throws IOException {
        Path p2pmem = tree.function("0000:03:00.0").folder().resolve("p2pmem");
        PeerMemory memory = provider().memories().getFirst();
        for (String wrong : List.of("-4096", "9223372036854775807", "99999999999999999999", "x", "")) {
            Files.writeString(p2pmem.resolve("available"), wrong);
            assertThat(memory.freeBytes()).as(wrong).isZero();
            Files.writeString(p2pmem.resolve("size"), wrong);
            assertThat(memory.sizeBytes()).as(wrong).isZero();
        }
        Files.writeString(p2pmem.resolve("size"), "8192");
        Files.writeString(p2pmem.resolve("available"), "8193");
        assertThat(memory.freeBytes()).isZero();
        Files.writeString(p2pmem.resolve("available"), "8192");
        assertThat(memory.freeBytes()).isEqualTo(8192);
    }

    @Test
    void refusesBarsThatCannotBeMapped() throws IOException {
        SysfsTree.Node drive =
                tree.function("0000:04:00.0").resource(0, 512).resource(1, 0).resource(3, MIB);
        assertThatThrownBy(() -> provider(BarRange.parse("04:00.0/resource0")))
                .isInstanceOf(IOException.class)
                .hasMessage(
                        "0000:04:00.0/resource0: resource0 has only 512 bytes, and only pages of 4096 can be mapped");
        assertThatThrownBy(() -> provider(BarRange.parse("04:00.0/resource1")))
                .hasMessageContaining("has only 0 bytes");
        String memory = "0x00000000fe000000 0x00000000fe0fffff 0x0000000000140204\n";
        String ports = "0x000000000000c000 0x000000000000c0ff 0x0000000000040101\n";
        Files.writeString(drive.folder().resolve("resource"), memory + memory + memory + ports);
        assertThatThrownBy(() -> provider(BarRange.parse("04:00.0/resource3")))
                .isInstanceOf(IOException.class)
                .hasMessage("0000:04:00.0/resource3: resource3 is no memory but I/O ports");
        assertThat(provider(BAR).memories()).hasSize(3);
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
        assertThatThrownBy(() -> BarRange.parse("03:00.0/resource2+4M"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("'03:00.0/resource2+4M' is no range of a BAR; for its first 4M write it as"
                        + " 03:00.0/resource2@0+4M");
    }
}

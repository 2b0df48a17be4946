package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nvmf4j.target.PeerMemorySelection.Candidate;
import org.nvmf4j.target.spi.PeerBlock;
import org.nvmf4j.target.spi.PeerClient;
import org.nvmf4j.target.spi.PeerMemory;
import org.nvmf4j.target.spi.PeerMemoryProvider;
import org.nvmf4j.target.spi.Reach;

class PeerMemorySelectionTest {
    private static final PeerClient NIC = new PeerClient.RdmaDevice("mlx5_0");
    private static final PeerClient DRIVE = new PeerClient.PciFunction("0000:04:00.0", "the drive");
    private static final List<PeerClient> CLIENTS = List.of(NIC, DRIVE);

    private final Machine machine = new Machine();

    /** Memories, and how each client reaches them. */
    private static final class Machine implements PeerMemoryProvider {
        private final List<Memory> memories = new ArrayList<>();
        private final Map<String, Reach> reaches = new HashMap<>();

        Machine has(String address, long free, boolean published, Reach nic, Reach drive) {
            memories.add(new Memory(address, free, published, true));
            reaches.put(address + NIC, nic);
            reaches.put(address + DRIVE, drive);
            return this;
        }

        Machine has(String address, long free, int toNic, int toDrive) {
            return has(address, free, true, Reach.peerToPeer(toNic), Reach.peerToPeer(toDrive));
        }

        @Override
        public List<? extends PeerMemory> memories() {
            return memories;
        }

        @Override
        public Reach reach(PeerMemory memory, PeerClient client) {
            return reaches.getOrDefault(memory.pciAddress() + client, Reach.not("unknown client"));
        }
    }

    private record Memory(String pciAddress, long freeBytes, boolean isPublished, boolean isPresent)
            implements PeerMemory {
        @Override
        public long sizeBytes() {
            return freeBytes;
        }

        @Override
        public String publisher() {
            return "a test";
        }

        @Override
        public @Nullable PeerBlock allocate(long bytes) {
            throw new AssertionError("selection allocates nothing");
        }
    }

    private PeerMemorySelection select(String choice) {
        return PeerMemorySelection.select(PeerMemoryChoice.parse(choice), machine, CLIENTS);
    }

    private static String address(PeerMemorySelection selection) {
        return selection.memory() == null ? "none" : selection.memory().pciAddress();
    }

    @Test
    void offLooksAtNothing() {
        machine.has("0000:03:00.0", 1 << 20, 0, 0);
        PeerMemorySelection selection = select("0");
        assertThat(selection.memory()).isNull();
        assertThat(selection.candidates()).isEmpty();
    }

    @Test
    void autoTakesTheSmallestTotalDistance() {
        machine.has("0000:03:00.0", 1 << 20, 4, 8)
                .has("0000:04:00.0", 1 << 20, 4, 0)
                .has("0000:05:00.0", 1 << 30, 0, 6);
        assertThat(address(select("1"))).isEqualTo("0000:04:00.0");
        assertThat(select("1").why()).isEqualTo("0000:04:00.0, the nearest, at distance 4");
    }

    @Test
    void autoBreaksTiesByFreeMemoryAndThenByAddress() {
        machine.has("0000:07:00.0", 2 << 20, 2, 2)
                .has("0000:06:00.0", 1 << 20, 0, 4)
                .has("0000:05:00.0", 2 << 20, 4, 0);
        assertThat(address(select("1"))).isEqualTo("0000:05:00.0");
    }

    @Test
    void autoTakesNothingThatIsNotPublishedFreeAndReachableByAll() {
        machine.has("0000:03:00.0", 1 << 20, false, Reach.peerToPeer(0), Reach.peerToPeer(0))
                .has("0000:04:00.0", 0, 0, 0)
                .has("0000:05:00.0", 1 << 20, true, Reach.not("behind another host bridge"), Reach.peerToPeer(2));
        PeerMemorySelection selection = select("1");
        assertThat(selection.memory()).isNull();
        assertThat(selection.why())
                .startsWith("no peer memory that all can use: ")
                .contains("0000:03:00.0: its memory is not published")
                .contains("0000:04:00.0: nothing of its memory is free")
                .contains("0000:05:00.0: behind another host bridge");
    }

    @Test
    void autoNeverPicksMemoryForTheCpuAndSaysWhy() {
        machine.has(
                "0000:03:00.0",
                1 << 20,
                true,
                Reach.withTheCpu("softroce moves data with the CPU and is no PCI device"),
                Reach.peerToPeer(0));
        PeerMemorySelection selection = select("1");
        assertThat(selection.memory()).isNull();
        assertThat(selection.why()).contains("softroce moves data with the CPU and is no PCI device");
    }

    @Test
    void aMachineWithoutPeerMemorySaysSo() {
        assertThat(select("1").why()).isEqualTo("this machine has no peer memory");
    }

    @Test
    void theUsersChoiceIsTakenEvenIfItIsFarther() {
        machine.has("0000:03:00.0", 1 << 20, 0, 0).has("0000:04:00.0", 1 << 20, 8, 8);
        PeerMemorySelection selection = select("04:00.0");
        assertThat(address(selection)).isEqualTo("0000:04:00.0");
        assertThat(selection.why()).isEqualTo("0000:04:00.0, as chosen, at distance 16");
        assertThat(selection.warning()).isEmpty();
    }

    @Test
    void theUsersChoiceForTheCpuIsTakenWithAWarning() {
        machine.has("0000:03:00.0", 1 << 20, true, Reach.withTheCpu("it is software"), Reach.peerToPeer(0));
        PeerMemorySelection selection = select("0000:03:00.0");
        assertThat(address(selection)).isEqualTo("0000:03:00.0");
        assertThat(selection.warning())
                .isEqualTo(
                        "the CPU copies to and from 0000:03:00.0 for RDMA device mlx5_0: that works, and is slower than"
                                + " system memory");
    }

    @Test
    void theUsersChoiceIsRefusedWithTheReasonAndWhatWouldWork() {
        machine.has("0000:03:00.0", 1 << 20, true, Reach.not("the NIC is under 0000:40"), Reach.peerToPeer(2))
                .has("0000:41:00.0", 64 << 20, 2, 2)
                .has("0000:42:00.0", 1 << 20, false, Reach.peerToPeer(0), Reach.peerToPeer(0));
        assertThatThrownBy(() -> select("0000:03:00.0"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("p2pmem=0000:03:00.0: the NIC is under 0000:40; 0000:41:00.0 has 64 MiB free at"
                        + " distance 4");
        assertThatThrownBy(() -> select("0000:42:00.0")).hasMessageContaining("its memory is not published");
        assertThatThrownBy(() -> select("0000:99:00.0"))
                .hasMessage("p2pmem=0000:99:00.0: no such device has peer memory; 0000:41:00.0 has 64 MiB free at"
                        + " distance 4");
    }

    @Test
    void ofTwoMemoriesAtOneAddressTheUsableOneIsChosen() {
        machine.has("0000:03:00.0", 128 << 20, false, Reach.peerToPeer(4), Reach.peerToPeer(4));
        machine.has("0000:03:00.0", 64 << 20, true, Reach.withTheCpu("software"), Reach.withTheCpu("memory"));
        assertThat(select("0000:03:00.0").memory()).isEqualTo(machine.memories.getLast());
    }

    @Test
    void refusalsSayWhenNothingWouldWork() {
        machine.has("0000:03:00.0", 1 << 20, true, Reach.not("far away"), Reach.peerToPeer(2));
        assertThatThrownBy(() -> select("0000:03:00.0"))
                .hasMessage("p2pmem=0000:03:00.0: far away; no peer memory here can be used by all; p2pmem=0 is system"
                        + " memory");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "2", "yes", "0000:03:00", "0000:03:00.8", "03:00.0x", "0000:03:20.0", "-1"})
    void aChoiceIsOffAutoOrAnAddress(String wrong) {
        assertThatThrownBy(() -> PeerMemoryChoice.parse(wrong))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("p2pmem=" + wrong)
                .hasMessageContaining("0000:03:00.0");
    }

    @Test
    void whatIsPickedIsReachableByAllAndNeverFartherThanAnother() {
        for (long seed = 0; seed < 2_000; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            Machine random16 = new Machine();
            for (int i = random.nextInt(6); i > 0; i--) {
                random16.has(
                        String.format("0000:%02x:00.0", random.nextInt(16)),
                        random.nextInt(3) << 20,
                        random.nextInt(4) > 0,
                        reach(random),
                        reach(random));
            }
            PeerMemorySelection selection = PeerMemorySelection.select(PeerMemoryChoice.AUTO, random16, CLIENTS);
            List<Candidate> usable = selection.candidates().stream()
                    .filter(c -> c.memory().isPublished() && c.memory().freeBytes() > 0)
                    .filter(c -> c.reaches().stream().allMatch(r -> r.kind() == Reach.Kind.PEER_TO_PEER))
                    .toList();
            if (selection.memory() == null) {
                assertThat(usable).as("seed %d", seed).isEmpty();
            } else {
                int least = usable.stream()
                        .mapToInt(Candidate::distance)
                        .min()
                        .orElseThrow(() -> new AssertionError("picked what nobody can use"));
                Candidate picked = selection.candidates().getFirst();
                assertThat(picked.memory()).as("seed %d", seed).isSameAs(selection.memory());
                assertThat(usable).as("seed %d", seed).contains(picked);
                assertThat(picked.distance()).as("seed %d", seed).isEqualTo(least);
            }
        }
    }

    private static Reach reach(SplittableRandom random) {
        return switch (random.nextInt(4)) {
            case 0 -> Reach.not("no");
            case 1 -> Reach.withTheCpu("software");
            default -> Reach.peerToPeer(2 * random.nextInt(5));
        };
    }
}

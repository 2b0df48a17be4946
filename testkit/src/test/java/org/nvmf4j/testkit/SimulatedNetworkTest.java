package org.nvmf4j.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class SimulatedNetworkTest {
    private static final int PACKETS = 1000;

    private final VirtualClock clock = new VirtualClock();
    private final List<Integer> arrived = new ArrayList<>();

    private SimulatedNetwork network(long seed, NetworkConditions conditions) {
        SimulatedNetwork network = new SimulatedNetwork(clock, new SplittableRandom(seed), conditions);
        network.attach("b", (from, packet) -> {
            assertThat(from).isEqualTo("a");
            arrived.add(((packet[0] & 0xFF) << 8) | (packet[1] & 0xFF));
        });
        return network;
    }

    private static void send(SimulatedNetwork network, int number) {
        byte[] packet = {(byte) (number >> 8), (byte) number};
        network.send("a", "b", packet);
        packet[0] = -1; // the network has copied it
    }

    private void deliverAll(SimulatedNetwork network) {
        while (network.nextArrivalNanos() != Long.MAX_VALUE) {
            clock.advanceTo(network.nextArrivalNanos());
            assertThat(network.deliverOne()).isTrue();
        }
        assertThat(network.deliverOne()).isFalse();
    }

    private List<Integer> run(long seed, NetworkConditions conditions) {
        arrived.clear();
        SimulatedNetwork network = network(seed, conditions);
        for (int i = 0; i < PACKETS; i++) {
            send(network, i);
            clock.advance(1_000);
        }
        deliverAll(network);
        return List.copyOf(arrived);
    }

    @Test
    void deliversEverythingOnceInOrderAfterTheDelay() {
        SimulatedNetwork network = network(1, NetworkConditions.PERFECT);
        send(network, 1);
        send(network, 2);
        assertThat(network.deliverOne()).isFalse();
        assertThat(network.nextArrivalNanos()).isEqualTo(10_000);
        clock.advance(9_999);
        assertThat(network.deliverOne()).isFalse();
        clock.advance(1);
        deliverAll(network);
        assertThat(arrived).containsExactly(1, 2);
        assertThat(network.sent()).isEqualTo(2);
        assertThat(network.delivered()).isEqualTo(2);
    }

    @Test
    void jitterAloneKeepsTheOrder() {
        List<Integer> result = run(1, new NetworkConditions(0, 0, 0, 0, 100, 50_000, 0));
        assertThat(result).hasSize(PACKETS).isSorted();
    }

    @Test
    void losesRepeatsAndReorders() {
        List<Integer> lossy = run(1, new NetworkConditions(0.1, 0, 0, 0, 100, 0, 0));
        assertThat(lossy).hasSizeBetween(800, 980).isSorted().doesNotHaveDuplicates();
        List<Integer> repeated = run(1, new NetworkConditions(0, 0.1, 0, 0, 100, 0, 0));
        assertThat(repeated).hasSizeBetween(1020, 1200);
        List<Integer> reordered = run(1, new NetworkConditions(0, 0, 0.1, 0, 100, 0, 20_000));
        assertThat(reordered).hasSize(PACKETS).doesNotHaveDuplicates();
        assertThat(reordered).isNotEqualTo(reordered.stream().sorted().toList());
    }

    @Test
    void changesOneBit() {
        SimulatedNetwork network =
                new SimulatedNetwork(clock, new SplittableRandom(1), new NetworkConditions(0, 0, 0, 1, 0, 0, 0));
        int[] bits = {0};
        network.attach("b", (from, packet) -> {
            for (byte value : packet) {
                bits[0] += Integer.bitCount(value & 0xFF);
            }
        });
        network.send("a", "b", new byte[100]);
        deliverAll(network);
        assertThat(bits[0]).isEqualTo(1);
        assertThat(network.corrupted()).isEqualTo(1);
    }

    @Test
    void sameSeedSameFate() {
        NetworkConditions bad = new NetworkConditions(0.1, 0.1, 0.1, 0, 100, 5_000, 20_000);
        List<Integer> first = run(7, bad);
        assertThat(run(7, bad)).isEqualTo(first);
        assertThat(run(8, bad)).isNotEqualTo(first);
    }

    @Test
    void cutsLoseWhatIsUnderWayUntilTheyHeal() {
        SimulatedNetwork network = network(1, NetworkConditions.PERFECT);
        List<Integer> back = new ArrayList<>();
        network.attach("a", (from, packet) -> back.add(packet.length));
        send(network, 1);
        network.partition("a", "b");
        send(network, 2);
        network.send("b", "a", new byte[3]);
        deliverAll(network);
        network.heal();
        network.cut("a", "b");
        send(network, 3);
        network.send("b", "a", new byte[4]);
        deliverAll(network);
        network.heal();
        send(network, 4);
        deliverAll(network);
        network.detach("b");
        send(network, 5);
        deliverAll(network);
        assertThat(arrived).containsExactly(4);
        assertThat(back).containsExactly(4);
        assertThat(network.lost()).isEqualTo(5);
    }

    @Test
    void refusesConditionsThatCannotBe() {
        assertThatIllegalArgumentException().isThrownBy(() -> new NetworkConditions(1.1, 0, 0, 0, 0, 0, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> new NetworkConditions(0, -0.1, 0, 0, 0, 0, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> new NetworkConditions(0, 0, Double.NaN, 0, 0, 0, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> new NetworkConditions(0, 0, 0, 0, -1, 0, 0));
    }

    @Test
    void timeDoesNotGoBack() {
        clock.advance(5);
        clock.advanceTo(3);
        assertThat(clock.nowNanos()).isEqualTo(5);
        assertThatIllegalArgumentException().isThrownBy(() -> clock.advance(-1));
    }
}

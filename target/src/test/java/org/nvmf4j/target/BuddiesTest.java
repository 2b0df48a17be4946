package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BuddiesTest {
    @Test
    void blocksNeverOverlapAndJoinAgain() {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        Buddies buddies = new Buddies(8, 4);
        BitSet used = new BitSet();
        List<int[]> taken = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
            if (random.nextInt(100) < 55) {
                int order = random.nextInt(9);
                int unit = buddies.take(order);
                if (unit >= 0) {
                    int end = unit + (1 << order);
                    assertThat(unit & ((1 << order) - 1))
                            .as("aligned, seed %d", seed)
                            .isZero();
                    assertThat(used.get(unit, end).isEmpty())
                            .as("no overlap, seed %d", seed)
                            .isTrue();
                    used.set(unit, end);
                    taken.add(new int[] {unit, order});
                }
            } else if (!taken.isEmpty()) {
                int[] block = taken.remove(random.nextInt(taken.size()));
                buddies.give(block[0]);
                used.clear(block[0], block[0] + (1 << block[1]));
            }
            assertThat(buddies.freeUnits()).isEqualTo(buddies.units() - used.cardinality());
        }
        for (int[] block : taken) {
            buddies.give(block[0]);
        }
        for (int i = 0; i < 4; i++) {
            assertThat(buddies.take(8)).as("whole again, seed %d", seed).isNotNegative();
        }
        assertThat(buddies.take(0)).isEqualTo(-1);
    }

    @Test
    void refusesWhatIsNotTaken() {
        Buddies buddies = new Buddies(3, 1);
        int unit = buddies.take(1);
        buddies.give(unit);
        assertThatThrownBy(() -> buddies.give(unit)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> buddies.give(-1)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> buddies.give(8)).isInstanceOf(IllegalStateException.class);
        int again = buddies.take(2);
        assertThatThrownBy(() -> buddies.give(again + 1)).isInstanceOf(IllegalStateException.class);
    }
}

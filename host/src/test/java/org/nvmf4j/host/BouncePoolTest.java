package org.nvmf4j.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BouncePoolTest {
    @Test
    void lendsRunsUntilItIsFullAndAgainWhenTheyAreBack() {
        BouncePool pool = new BouncePool(4);
        int a = pool.allocate(2 * BouncePool.UNIT_BYTES);
        int b = pool.allocate(BouncePool.UNIT_BYTES + 1);
        assertThat(List.of(a, b)).containsExactly(0, 2 * BouncePool.UNIT_BYTES);
        assertThat(pool.allocate(1)).isEqualTo(-1);
        pool.free(a, 2 * BouncePool.UNIT_BYTES);
        assertThat(pool.allocate(3 * BouncePool.UNIT_BYTES)).isEqualTo(-1);
        assertThat(pool.allocate(512)).isZero();
        assertThat(pool.allocate(512)).isEqualTo(BouncePool.UNIT_BYTES);
    }

    @Test
    void neverLendsABytesTwice() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        BouncePool pool = new BouncePool(64);
        List<int[]> lent = new ArrayList<>();
        for (int i = 0; i < 2_000; i++) {
            if (random.nextInt(3) > 0) {
                int length = 1 + random.nextInt(8 * BouncePool.UNIT_BYTES);
                int at = pool.allocate(length);
                if (at >= 0) {
                    assertThat(lent)
                            .as("seed %d", seed)
                            .noneMatch(other -> at < other[0] + other[1] && other[0] < at + length);
                    assertThat(at + length).isLessThanOrEqualTo(64 * BouncePool.UNIT_BYTES);
                    lent.add(new int[] {at, length});
                }
            } else if (!lent.isEmpty()) {
                int[] run = lent.remove(random.nextInt(lent.size()));
                pool.free(run[0], run[1]);
            }
        }
        lent.forEach(run -> pool.free(run[0], run[1]));
        assertThat(pool.isEmpty()).isTrue();
    }
}

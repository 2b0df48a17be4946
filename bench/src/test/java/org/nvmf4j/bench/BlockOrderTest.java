package org.nvmf4j.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.BitSet;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BlockOrderTest {
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 16, 17, 1000, 4096, 65537})
    void visitsEveryBlockOncePerPass(int blocks) {
        BlockOrder order = new BlockOrder(true, blocks, 42);
        for (int pass = 0; pass < 3; pass++) {
            BitSet seen = new BitSet();
            for (int i = 0; i < blocks; i++) {
                seen.set(Math.toIntExact(order.next()));
            }
            assertThat(seen.cardinality()).isEqualTo(blocks);
            assertThat(seen.length()).isEqualTo(blocks);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2})
    void replaysASeedAndChangesFromPassToPass(long seed) {
        long[] first = take(new BlockOrder(true, 1000, seed), 2000);
        assertThat(first).isEqualTo(take(new BlockOrder(true, 1000, seed), 2000));
        assertThat(LongStream.range(0, 1000)
                        .filter(i -> first[(int) i] == first[(int) i + 1000])
                        .count())
                .isLessThan(20);
        assertThat(LongStream.range(0, 1000).filter(i -> first[(int) i] == i).count())
                .isLessThan(20);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7})
    void ascendsWhereItIsNotRandom(int blocks) {
        assertThat(take(new BlockOrder(false, blocks, 3), 2 * blocks))
                .isEqualTo(LongStream.range(0, 2L * blocks).map(i -> i % blocks).toArray());
    }

    private static long[] take(BlockOrder order, int count) {
        return LongStream.generate(order::next).limit(count).toArray();
    }
}

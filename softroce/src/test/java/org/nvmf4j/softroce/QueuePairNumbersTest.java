package org.nvmf4j.softroce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.nvmf4j.verbs.VerbsException;

class QueuePairNumbersTest {
    private final NumberTable<String> inUse = new NumberTable<>();

    /** Gives one value after the other, and the last for ever. */
    private static RandomGenerator values(int... values) {
        return new RandomGenerator() {
            private int next;

            @Override
            public long nextLong() {
                throw new AssertionError("not used");
            }

            @Override
            public int nextInt(int bound) {
                return values[Math.min(next++, values.length - 1)];
            }
        };
    }

    @Test
    void lowBitsNameTheVector() throws VerbsException {
        assertThat(new QueuePairNumbers(2, 2, values(5)).take(inUse)).isEqualTo(5 << 2 | 2);
        assertThat(new QueuePairNumbers(0, 0, values(5)).take(inUse)).isEqualTo(5);
    }

    @Test
    void passesOverNumbersOfManagementAndMulticast() throws VerbsException {
        assertThat(new QueuePairNumbers(0, 0, values(0, 1, 0xFF_FFFF, 2)).take(inUse))
                .isEqualTo(2);
        assertThat(new QueuePairNumbers(1, 1, values(0, 7)).take(inUse)).isEqualTo(15);
    }

    @Test
    void passesOverNumbersInUseAndAtRest() throws VerbsException {
        QueuePairNumbers numbers = new QueuePairNumbers(0, 0, values(9, 9, 10, 9, 10, 11));
        inUse.add(numbers.take(inUse), "nine");
        assertThat(numbers.take(inUse)).isEqualTo(10);
        inUse.remove(9);
        numbers.giveBack(9);
        numbers.giveBack(10);
        assertThat(numbers.take(inUse)).isEqualTo(11);
    }

    @Test
    void takesANumberAgainWhenManyOthersWereUsedSince() throws VerbsException {
        QueuePairNumbers numbers = new QueuePairNumbers(0, 0, values(2));
        numbers.giveBack(2);
        for (int i = 3; i < 5000; i++) {
            numbers.giveBack(i);
        }
        assertThat(numbers.take(inUse)).isEqualTo(2);
    }

    @Test
    void saysWhenNoneIsFree() {
        inUse.add(3, "three");
        assertThatThrownBy(() -> new QueuePairNumbers(0, 0, values(3)).take(inUse))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("no queue pair number is free");
    }
}

package org.nvmf4j.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The checkers themselves: they must see what is wrong. */
class InvariantsTest {
    @Test
    void ledgerTakesCompletionsInOrder() {
        WorkLedger ledger = new WorkLedger("sends");
        ledger.posted(1, true);
        ledger.posted(2, false);
        ledger.posted(3, true);
        ledger.completed(1, true);
        ledger.completed(3, true);
        ledger.checkDrained();
        assertThat(ledger.outstanding()).isZero();
        assertThat(ledger.completed()).isEqualTo(3);
        ledger.posted(4, false);
        ledger.checkDrained();
        ledger.completed(4, false);
        assertThat(ledger.outstanding()).isZero();
    }

    @Test
    void ledgerSeesRepeatedLostAndUnorderedCompletions() {
        WorkLedger ledger = new WorkLedger("sends");
        ledger.posted(1, true);
        ledger.completed(1, true);
        assertThatThrownBy(() -> ledger.completed(1, true)).hasMessageContaining("not outstanding");
        ledger.posted(2, true);
        ledger.posted(3, true);
        assertThatThrownBy(() -> ledger.completed(3, true)).hasMessageContaining("2 was due");
        WorkLedger other = new WorkLedger("sends");
        other.posted(5, true);
        assertThatThrownBy(other::checkDrained).hasMessageContaining("5 never completed");
        other.posted(6, false);
        other.completed(5, true);
        assertThatThrownBy(() -> other.completed(6, true)).hasMessageContaining("6");
    }

    @Test
    void guardsSeeWritesOnEitherSide() {
        try (Arena arena = Arena.ofConfined()) {
            GuardedMemory memory = new GuardedMemory(arena, 100);
            memory.segment().fill((byte) 1);
            memory.check();
            assertThat(memory.segment().byteSize()).isEqualTo(100);
            memory.segment().reinterpret(101).set(ValueLayout.JAVA_BYTE, 100, (byte) 1);
            assertThatThrownBy(memory::check).hasMessageContaining("byte 100 ");
        }
    }

    @Test
    void seedsNameTheOneThatFailed() {
        assumeThat(System.getProperty("nvmf4j.seed")).isNull();
        assumeThat(System.getProperty("nvmf4j.seeds")).isNull();
        List<Long> ran = new ArrayList<>();
        assertThatThrownBy(() -> Seeds.each(10, seed -> {
                    ran.add(seed);
                    assertThat(seed).isLessThan(4);
                }))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("seed 4 ")
                .hasMessageContaining("-Dnvmf4j.seed=4");
        assertThat(ran).containsExactly(1L, 2L, 3L, 4L);
    }
}

package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class LimitedLogTest {
    @Test
    void letsTenMessagesThroughInTenSecondsAndCountsTheRest() {
        LimitedLog log = new LimitedLog(System.getLogger("test"));
        long start = System.nanoTime();
        for (int i = 0; i < 10; i++) {
            assertThat(log.admit(start)).isZero();
        }
        for (int i = 0; i < 7; i++) {
            assertThat(log.admit(start + 9_000_000_000L)).isEqualTo(-1);
        }
        assertThat(log.admit(start + 10_000_000_000L)).isEqualTo(7);
        assertThat(log.admit(start + 10_000_000_000L)).isZero();
    }
}

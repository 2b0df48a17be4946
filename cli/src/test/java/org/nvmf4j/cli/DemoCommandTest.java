package org.nvmf4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class DemoCommandTest {
    @Test
    void remarksOnWhatIsBetterThanItsFloor() {
        assertThat(DemoCommand.isBeyondFloor(1.5, 0.9, 1)).isFalse();
        assertThat(DemoCommand.isBeyondFloor(0.99, 0.9, 0.9)).isTrue();
        assertThat(DemoCommand.isBeyondFloor(1.5, 0.9, 1.01)).isTrue();
    }
}

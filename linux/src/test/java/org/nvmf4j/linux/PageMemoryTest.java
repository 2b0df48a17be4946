package org.nvmf4j.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PageMemoryTest {
    @ParameterizedTest
    @ValueSource(longs = {1, 4096, 100_000, 2 << 20, (5 << 20) + 1})
    void isZeroedAlignedAndGoesWithItsArena(long bytes) {
        MemorySegment memory;
        try (Arena arena = Arena.ofConfined()) {
            memory = PageMemory.allocate(arena, bytes);
            assertThat(memory.byteSize()).isEqualTo(bytes);
            assertThat(memory.address() % (bytes >= 2 << 20 ? 2 << 20 : 4096)).isZero();
            assertThat(memory.get(ValueLayout.JAVA_BYTE, 0)).isZero();
            assertThat(memory.get(ValueLayout.JAVA_BYTE, bytes - 1)).isZero();
            memory.set(ValueLayout.JAVA_BYTE, bytes - 1, (byte) 7);
            assertThat(memory.get(ValueLayout.JAVA_BYTE, bytes - 1)).isEqualTo((byte) 7);
        }
        assertThatThrownBy(() -> memory.get(ValueLayout.JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void refusesImpossibleSizes() {
        try (Arena arena = Arena.ofConfined()) {
            assertThatThrownBy(() -> PageMemory.allocate(arena, 0)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> PageMemory.allocate(arena, Long.MAX_VALUE - 4096))
                    .isInstanceOfAny(OutOfMemoryError.class, ArithmeticException.class);
            assertThatThrownBy(() -> PageMemory.allocate(arena, 1L << 60))
                    .isInstanceOf(OutOfMemoryError.class)
                    .hasMessageContaining("ENOMEM");
        }
    }
}

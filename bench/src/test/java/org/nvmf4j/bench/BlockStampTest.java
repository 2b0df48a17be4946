package org.nvmf4j.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

class BlockStampTest {
    private final MemorySegment memory = Arena.ofAuto().allocate(3 * 4096);
    private final BlockStamp stamp = new BlockStamp(memory, 4096, 5);

    @Test
    void acceptsWhatItFilled() {
        stamp.fill(4096, 81920, 3);
        assertThat(stamp.check(4096, 81920, 3)).isNull();
        assertThat(stamp.check(4096, 81920, -1)).isNull();
    }

    @Test
    void findsAnyDamagedByte() {
        for (int at = 0; at < 4096; at += 97) {
            stamp.fill(4096, 8192, 1);
            memory.set(ValueLayout.JAVA_BYTE, 4096 + at, (byte) ~memory.get(ValueLayout.JAVA_BYTE, 4096 + at));
            assertThat(stamp.check(4096, 8192, 1)).as("byte %d", at).isNotNull();
        }
    }

    @Test
    void tellsMisplacedFromStaleFromNeverWritten() {
        stamp.fill(0, 4096, 2);
        assertThat(stamp.check(0, 8192, 2)).contains("offset 4096");
        assertThat(stamp.check(0, 4096, 3)).contains("write number 2");
        assertThat(stamp.check(8192, 0, -1)).contains("no verify header");
    }

    @Test
    void leavesItsNeighboursAlone() {
        stamp.fill(4096, 0, 1);
        assertThat(memory.asSlice(0, 4096).mismatch(Arena.ofAuto().allocate(4096)))
                .isEqualTo(-1);
        assertThat(memory.asSlice(8192, 4096).mismatch(Arena.ofAuto().allocate(4096)))
                .isEqualTo(-1);
    }
}

package org.nvmf4j.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OnDemandMemoryTest {
    /** Enough for the copy to be compiled, where the fault is told late. */
    private static final int WARM_UP = 50_000;

    private final MemorySegment ours = Arena.ofAuto().allocate(8192);

    @Test
    void everyCopyTellsThatItsMemoryIsGone(@TempDir Path folder) throws IOException {
        Path path = Files.write(folder.resolve("file"), new byte[2 * 8192]);
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            MemorySegment memory = file.map(FileChannel.MapMode.READ_WRITE, 0, 2 * 8192, Arena.ofAuto());
            assertThat(successes(memory, WARM_UP)).isEqualTo(2 * WARM_UP);
            file.truncate(0);
            assertThat(successes(memory, 5000)).isZero();
        }
    }

    /** Copies of all sizes from and to some memory. */
    private int successes(MemorySegment memory, int rounds) {
        int successes = 0;
        for (int i = 0; i < rounds; i++) {
            int bytes = 1 + i % 5000;
            successes += OnDemandMemory.copy(memory, i & 4095, ours, 0, bytes) ? 1 : 0;
            successes += OnDemandMemory.copy(ours, 0, memory, 8192 + (i & 7), bytes) ? 1 : 0;
        }
        return successes;
    }
}

package org.nvmf4j.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class CpuAffinityTest {
    @Test
    void pinsThread() throws Exception {
        assertThat(CpuAffinity.isSupported()).isTrue();
        int[] allowed = CpuAffinity.allowedCpus();
        assertThat(allowed).isNotEmpty().isSorted();
        List<Integer> seen = new ArrayList<>();
        AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        Thread thread = Thread.ofPlatform().start(() -> {
            try {
                for (int cpu : allowed) {
                    CpuAffinity.pinCurrentThread(cpu);
                    seen.add(CpuAffinity.currentCpu());
                    assertThat(CpuAffinity.allowedCpus()).containsExactly(cpu);
                }
            } catch (Throwable t) {
                failure.set(t);
            }
        });
        thread.join();
        assertThat(failure.get()).isNull();
        assertThat(seen)
                .containsExactlyElementsOf(
                        java.util.Arrays.stream(allowed).boxed().toList());
        assertThat(CpuAffinity.allowedCpus()).isEqualTo(allowed);
    }

    @Test
    void saysWhichCpuItCannotHave() {
        for (int cpu : new int[] {-1, 8191, 8192, Integer.MAX_VALUE}) {
            assertThatThrownBy(() -> CpuAffinity.pinCurrentThread(cpu))
                    .isInstanceOf(LinuxException.class)
                    .hasMessageContaining("CPU " + cpu)
                    .hasMessageContaining("EINVAL");
        }
    }
}

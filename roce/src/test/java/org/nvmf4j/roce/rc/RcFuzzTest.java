package org.nvmf4j.roce.rc;

import com.code_intelligence.jazzer.api.FuzzedDataProvider;
import com.code_intelligence.jazzer.junit.FuzzTest;

class RcFuzzTest {
    /** Runs without input; with {@code JAZZER_FUZZ=1} it looks for inputs that break the rules. */
    @FuzzTest(maxDuration = "10s")
    void survivesAnyPackets(FuzzedDataProvider data) {
        RcChaos.Choices choices = new RcChaos.Choices() {
            @Override
            public boolean more() {
                return data.remainingBytes() > 0;
            }

            @Override
            public int below(int bound) {
                return data.consumeInt(0, bound - 1);
            }

            @Override
            public int anything() {
                return data.consumeInt();
            }
        };
        try (RcChaos chaos = new RcChaos(choices)) {
            chaos.run();
        }
    }
}

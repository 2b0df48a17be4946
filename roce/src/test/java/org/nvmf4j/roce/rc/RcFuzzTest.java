package org.nvmf4j.roce.rc;

import com.code_intelligence.jazzer.api.FuzzedDataProvider;
import com.code_intelligence.jazzer.junit.FuzzTest;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.nvmf4j.testkit.Seeds;

class RcFuzzTest {
    /** Runs without input; with {@code JAZZER_FUZZ=1} it looks for inputs that break the rules. */
    @FuzzTest(maxDuration = "1m")
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

    @Test
    void survivesRandomPackets() {
        Seeds.each(3000, seed -> {
            SplittableRandom random = new SplittableRandom(seed);
            RcChaos.Choices choices = new RcChaos.Choices() {
                @Override
                public boolean more() {
                    return random.nextInt(300) != 0;
                }

                @Override
                public int below(int bound) {
                    return random.nextInt(bound);
                }

                @Override
                public int anything() {
                    return random.nextInt();
                }
            };
            try (RcChaos chaos = new RcChaos(choices)) {
                chaos.run();
            }
        });
    }
}

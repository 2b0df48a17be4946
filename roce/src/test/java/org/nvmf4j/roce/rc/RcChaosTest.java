package org.nvmf4j.roce.rc;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.nvmf4j.testkit.Seeds;

class RcChaosTest {
    @Test
    void survivesRandomPackets() {
        Seeds.each(2000, seed -> {
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

package org.nvmf4j.roce.cm;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class CmSimulationTest {
    private static final int SEEDS = 1000;

    @Test
    void bothEndsAlwaysReachTheirEnd() throws Exception {
        long first = Long.getLong("nvmf4j.seed", 1);
        int count = Long.getLong("nvmf4j.seed") == null ? SEEDS : 1;
        Map<String, Integer> counts = new TreeMap<>();
        for (long seed = first; seed < first + count; seed++) {
            try {
                CmSimulation simulation = new CmSimulation(seed);
                simulation.run();
                simulation.counts.forEach((what, n) -> counts.merge(what, n, Integer::sum));
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("seed " + seed + " (replay with -Dnvmf4j.seed=" + seed + ")", e);
            }
        }
        if (count == SEEDS) {
            assertThat(counts)
                    .containsKeys(
                            "RequestReceived",
                            "RequestWithdrawn",
                            "ReplyReceived",
                            "Established",
                            "Rejected",
                            "Failed",
                            "Disconnected",
                            "pair",
                            "reason 3",
                            "reason 4",
                            "reason 6",
                            "reason 10",
                            "reason 28");
        }
    }
}

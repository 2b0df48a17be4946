package org.nvmf4j.roce.rc;

import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.nvmf4j.testkit.Seeds;

class RcSimulationTest {
    private static void simulate(int seeds, Consumer<RcSimulation> run) {
        Seeds.each(seeds, seed -> {
            try (RcSimulation simulation = new RcSimulation(seed)) {
                run.accept(simulation);
            }
        });
    }

    @Test
    void completesEverythingOnceAndInOrderOnABadNetwork() {
        simulate(1000, RcSimulation::runToSuccess);
    }

    @Test
    void givesUpAPeerThatIsCutOffAndFlushesTheRest() {
        simulate(300, RcSimulation::runIntoPartition);
    }

    @Test
    void endsEachRequestOnceWhenOneBreaksTheRules() {
        simulate(500, RcSimulation::runIntoFatalError);
    }
}

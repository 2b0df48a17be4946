package org.nvmf4j.systemtest;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nvmf4j.host.Controller;
import org.nvmf4j.host.Host;
import org.nvmf4j.host.HostOptions;
import org.nvmf4j.host.IoQueue;
import org.nvmf4j.host.ThreadingMode;
import org.nvmf4j.target.TargetOptions;
import org.nvmf4j.testkit.Seeds;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.FaultOptions;

/**
 * Data arrives as it was sent over a network that loses, repeats, reorders and damages packets in both directions. A failure names its
 * seed, which replays the faults; when they meet which packet also depends on the threads.
 */
class FaultsTest {
    private static final int SEEDS = 2;
    private static final int DEPTH = 16;
    private static final int REQUESTS = 400;

    @ParameterizedTest(name = "loss {0}, duplicate {1}, reorder {2}, corrupt {3}, path MTU {4}")
    @CsvSource({
        "0.01, 0,    0,    0,    4096",
        "0,    0.02, 0,    0,    4096",
        "0,    0,    0.02, 0,    1024",
        "0,    0,    0,    0.01, 1024",
        "0.01, 0.01, 0.01, 0.01, 4096",
        "0.03, 0.03, 0.03, 0.03, 4096"
    })
    void dataIsRightInSpiteOfFaults(double loss, double duplicate, double reorder, double corrupt, int pathMtuBytes) {
        Seeds.each(SEEDS, seed -> {
            FaultOptions ofTarget = new FaultOptions(loss, duplicate, reorder, corrupt, seed);
            FaultOptions ofHost = new FaultOptions(loss, duplicate, reorder, corrupt, ~seed);
            TargetNode.Setup setup = TargetNode.Setup.of("softroce", 16 << 20)
                    .withPathMtuBytes(pathMtuBytes)
                    .withFaults(ofTarget);
            try (TargetNode node = TargetNode.start(setup);
                    Host host = node.openHost(
                            HostOptions.builder()
                                    .threading(ThreadingMode.CALLER_THREAD)
                                    .vectors(1),
                            DeviceOptions.defaults().withFaults(ofHost))) {
                try (Controller controller = host.connect(node.address(), TargetNode.NQN)) {
                    transfer(host, controller, seed);
                }
                assertThat(faults(node.device().counters()))
                        .as("faults that the target's device made")
                        .isPositive();
                node.awaitNothingLeft();
                assertThat(node.statistics().connectionsFailed()).isZero();
            }
        });
    }

    private static void transfer(Host host, Controller controller, long seed) throws IOException {
        try (IoQueue queue = controller.openIoQueue();
                RandomIo io = new RandomIo(
                        host,
                        queue,
                        controller.namespace(TargetNode.NSID),
                        0,
                        DEPTH,
                        seed,
                        512,
                        TargetOptions.SAFE_IN_CAPSULE_DATA_BYTES,
                        8192,
                        65536)) {
            io.run(REQUESTS);
        }
    }

    private static long faults(Map<String, Long> counters) {
        return counters.entrySet().stream()
                .filter(counter -> counter.getKey().startsWith("faults_"))
                .mapToLong(Map.Entry::getValue)
                .sum();
    }
}

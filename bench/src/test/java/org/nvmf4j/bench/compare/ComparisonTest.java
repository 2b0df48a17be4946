package org.nvmf4j.bench.compare;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;
import org.nvmf4j.bench.BenchResult;
import org.nvmf4j.bench.DirectionResult;
import org.nvmf4j.bench.ReadWrite;
import org.nvmf4j.bench.Stop;
import org.nvmf4j.bench.Workload;

class ComparisonTest {
    private final List<String> order = new ArrayList<>();
    private final List<Long> seeds = new ArrayList<>();

    /** A run of 1000 reads that took as long, half of its posts inline. */
    static BenchResult result(long nanos) {
        Histogram latency = new Histogram(3);
        latency.recordValueWithCount(nanos, 1000);
        Workload workload = new Workload("test", ReadWrite.of("randread"), 4096, 1, 1, 0, 100, 0, true, 50, false, 1);
        return new BenchResult(
                workload,
                "nowhere",
                new DirectionResult(1000, 4_096_000, 1000 * nanos, latency),
                new DirectionResult(0, 0, 0, new Histogram(3)),
                0,
                Map.of("inline_posts", 500L, "by_reference_posts", 500L));
    }

    private Arm arm(String name, long nanos) {
        return new Arm(name, "takes " + nanos + " ns", seed -> {
            order.add(name);
            seeds.add(seed);
            return result(nanos + order.size() % 7);
        });
    }

    private Comparison run(Plan plan, Stop stop) throws IOException {
        return Comparison.run(List.of(arm("a", 10_000), arm("b", 12_000), arm("c", 10_000)), plan, stop, (_, _) -> {});
    }

    @Test
    void everyRoundRunsEveryArmOnceWithOneSeedInAnOrderOfItsOwn() throws Exception {
        Comparison comparison = run(new Plan(40, 2, 5), new Stop());
        assertThat(comparison.pairs()).isEqualTo(40);
        assertThat(order).hasSize(3 * 42);
        Set<List<String>> orders = new HashSet<>();
        for (int round = 0; round < 42; round++) {
            List<String> names = order.subList(3 * round, 3 * round + 3);
            assertThat(names).containsExactlyInAnyOrder("a", "b", "c");
            orders.add(List.copyOf(names));
            assertThat(new HashSet<>(seeds.subList(3 * round, 3 * round + 3))).hasSize(1);
        }
        assertThat(orders).hasSize(6);
        assertThat(new HashSet<>(seeds)).hasSize(42);
    }

    @Test
    void theSameSeedGivesTheSameOrder() throws Exception {
        run(new Plan(20, 0, 9), new Stop());
        List<String> first = List.copyOf(order);
        order.clear();
        run(new Plan(20, 0, 9), new Stop());
        assertThat(order).isEqualTo(first);
        order.clear();
        run(new Plan(20, 0, 10), new Stop());
        assertThat(order).isNotEqualTo(first);
    }

    @Test
    void findsWhatIsThereAndNothingElse() throws Exception {
        Comparison comparison = run(new Plan(40, 1, 5), new Stop());
        assertThat(comparison.baseline().name()).isEqualTo("a");
        assertThat(comparison.sentences(List.of(Metric.MEAN)).get(0))
                .startsWith("b is 2.0")
                .contains("µs slower than a in mean latency");
        assertThat(comparison.sentences(List.of(Metric.MEAN)).get(1)).startsWith("no difference found between c and a");
        assertThat(comparison.arms().get(1).latencyNanos().getTotalCount()).isEqualTo(40_000);
        assertThat(comparison.arms().get(1).inlinePercent()).isEqualTo(50);
        Difference iops = comparison.difference(comparison.arms().get(1), Metric.IOPS);
        assertThat(iops.verdict()).isEqualTo(Difference.Verdict.WORSE);
        assertThat(iops.percent()).isBetween(-17.0, -16.0);
    }

    @Test
    void aStopKeepsWhatIsComplete() throws Exception {
        Stop stop = new Stop();
        Arm stopping = new Arm("b", "stops", _ -> {
            if (order.size() > 30) {
                stop.request();
            }
            order.add("b");
            return result(1);
        });
        Comparison comparison = Comparison.run(List.of(arm("a", 1), stopping), new Plan(100, 0, 1), stop, (_, _) -> {});
        assertThat(comparison.pairs()).isBetween(14, 17);
        for (ArmRuns arm : comparison.arms()) {
            assertThat(arm.values(Metric.P99)).hasSize(comparison.pairs());
        }
    }

    @Test
    void aFailureNamesItsArmAndKeepsWhatIsComplete() {
        Arm failing = new Arm("b", "fails", _ -> {
            if (order.size() > 20) {
                throw new IOException("no such namespace");
            }
            order.add("b");
            return result(1);
        });
        Comparison comparison =
                Comparison.run(List.of(arm("a", 1), failing), new Plan(100, 0, 1), new Stop(), (_, _) -> {});
        assertThat(comparison.failure()).hasMessage("arm b: no such namespace");
        assertThat(comparison.pairs()).isBetween(9, 11);
    }

    @Test
    void aRunInWhichNothingEndsIsNoRunOfNoLatency() {
        Arm idle = new Arm("b", "does nothing", _ -> {
            BenchResult one = result(1);
            return new BenchResult(one.workload(), "nowhere", one.writes(), one.writes(), 0, Map.of());
        });
        Comparison comparison =
                Comparison.run(List.of(arm("a", 1), idle), new Plan(10, 0, 1), new Stop(), (_, _) -> {});
        assertThat(comparison.failure()).hasMessageStartingWith("arm b: no request ended in the measured time");
        assertThat(comparison.pairs()).isZero();
    }

    @Test
    void refusesArmsThatCannotBeToldApart() {
        assertThatThrownBy(() ->
                        Comparison.run(List.of(arm("a", 1), arm("a", 2)), new Plan(2, 0, 1), new Stop(), (_, _) -> {}))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new Plan(1, 0, 1)).hasMessage("pairs must be 2 to 10000, not 1");
    }
}

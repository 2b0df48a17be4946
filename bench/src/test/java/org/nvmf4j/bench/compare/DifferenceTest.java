package org.nvmf4j.bench.compare;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nvmf4j.bench.compare.Difference.Verdict;

/** Known answers, and simulated measurements on a machine that drifts and stumbles. */
class DifferenceTest {
    private static final int TRIALS = 1_000;
    private static final int PAIRS = 40;

    /** Latencies of two arms whose true difference is known, in rounds. */
    private static final class Simulation {
        private final SplittableRandom random;
        private final double trueDifference;
        private final double[] of = new double[PAIRS];
        private final double[] with = new double[PAIRS];

        Simulation(long seed, double trueDifference) {
            random = new SplittableRandom(seed);
            this.trueDifference = trueDifference;
            double drift = 0;
            for (int i = 0; i < PAIRS; i++) {
                drift += random.nextGaussian(0, 0.5); // far larger than what is looked for
                with[i] = 15 + drift + noise();
                of[i] = 15 + drift + trueDifference + noise();
            }
        }

        /** Skewed to the right, as latencies are. */
        private double noise() {
            return Math.exp(random.nextGaussian(-2, 0.7));
        }

        Difference difference(long seed) {
            return Difference.between(Metric.MEAN, "one", of, "other", with, seed);
        }

        boolean covered(Difference difference) {
            return difference.interval().contains(trueDifference);
        }
    }

    @Test
    void plantedNullsAreFoundAtTheStatedRateOnly() {
        int found = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            found += new Simulation(trial, 0).difference(trial).verdict() == Verdict.NONE_FOUND ? 0 : 1;
        }
        // 5 % stated, and rather less where tails are heavy; three standard deviations of 1,000 trials are 2.1 %
        assertThat(found / (double) TRIALS).isBetween(0.015, 0.071);
    }

    @ParameterizedTest
    @ValueSource(doubles = {-0.4, 0.06, 0.25})
    void intervalsHoldTheTruthAtTheStatedRate(double truth) {
        int covered = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            Simulation simulation = new Simulation(1_000_000 + trial, truth);
            covered += simulation.covered(simulation.difference(trial)) ? 1 : 0;
        }
        assertThat(covered / (double) TRIALS).isBetween(0.929, 0.985);
    }

    @Test
    void plantedDifferencesAreFoundAtTheStatedRate() {
        double detectable = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            detectable += new Simulation(2_000_000 + trial, 0).difference(trial).detectable() / TRIALS;
        }
        int found = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            Difference difference = new Simulation(3_000_000 + trial, -detectable).difference(trial);
            found += difference.verdict() == Verdict.BETTER ? 1 : 0;
        }
        // 80 % stated, for the mean spread; single runs guess theirs
        assertThat(found / (double) TRIALS).isBetween(0.75, 0.85);
    }

    @Test
    void largeDifferencesAreAlwaysFound() {
        for (int trial = 0; trial < 100; trial++) {
            assertThat(new Simulation(trial, 0.5).difference(trial).verdict()).isEqualTo(Verdict.WORSE);
            assertThat(new Simulation(trial, -0.5).difference(trial).verdict()).isEqualTo(Verdict.BETTER);
        }
    }

    /** For normal values the studentized bootstrap comes close to Student's quantile. */
    @Test
    void agreesWithStudentOnNormalValues() {
        SplittableRandom random = new SplittableRandom(1);
        double[] values = new double[200];
        Arrays.setAll(values, _ -> random.nextGaussian(3, 2));
        assertThat(Bootstrap.criticalValue(values, 0.95, 1)).isCloseTo(1.972, within(0.1)); // 199 degrees of freedom
    }

    @Test
    void theSameSeedGivesTheSameInterval() {
        Simulation simulation = new Simulation(7, 0.1);
        assertThat(simulation.difference(3)).isEqualTo(simulation.difference(3));
    }

    @Test
    void valuesWithoutSpreadHaveAnIntervalWithoutWidth() {
        Difference difference = Difference.between(Metric.IOPS, "one", filled(12, 5), "other", filled(12, 7), 1);
        assertThat(difference.interval()).isEqualTo(new Interval(-2, -2));
        assertThat(difference.verdict()).isEqualTo(Verdict.WORSE);
        assertThat(difference.percent()).isCloseTo(-28.57, within(0.01));
    }

    /** One value far out must not make the interval useless, and many alike must not make it narrow. */
    @Test
    void theIntervalIsStudentsAtLeastAndNotFarBeyond() {
        double[] with = filled(12, 0);
        double[] of = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 200};
        double[] noisy = {0.9, 1.1, 1.05, 0.95, 1.02, 0.98, 1.01, 0.99, 1.03, 0.97, 1, 200};
        for (double[] values : new double[][] {of, noisy}) {
            Difference difference = Difference.between(Metric.MEAN, "one", values, "other", with, 1);
            double student = 2.201 * Bootstrap.standardError(values); // eleven degrees of freedom
            double half = difference.interval().high() - difference.mean();
            assertThat(half).isBetween(0.999 * student, 2.001 * student);
        }
    }

    @Test
    void fewPairsHaveAWideInterval() {
        Difference difference =
                Difference.between(Metric.MEAN, "one", new double[] {2, 4}, "other", new double[] {1, 1}, 1);
        assertThat(difference.mean()).isEqualTo(2);
        assertThat(difference.interval().low()).isCloseTo(2 - 12.706, within(0.001)); // one degree of freedom
        assertThat(difference.verdict()).isEqualTo(Verdict.TOO_FEW_PAIRS);
    }

    private static double[] filled(int count, double value) {
        double[] values = new double[count];
        Arrays.fill(values, value);
        return values;
    }

    @Test
    void saysWhatTheIntervalSays() {
        assertThat(sentence(Metric.MEAN, -0.21, -0.25, -0.17, 40))
                .isEqualTo(
                        "inline is 0.210 µs faster than reference in mean latency, 95 % CI 0.170 to 0.250, 40 pairs");
        assertThat(sentence(Metric.P99, 0.21, 0.17, 0.25, 40))
                .isEqualTo(
                        "inline is 0.210 µs slower than reference in 99th percentile latency, 95 % CI 0.170 to 0.250,"
                                + " 40 pairs");
        assertThat(sentence(Metric.IOPS, 1234, 1000, 1500, 40))
                .isEqualTo("inline is 1,234 IOPS higher than reference in IOPS, 95 % CI 1,000 to 1,500, 40 pairs");
        assertThat(sentence(Metric.MEAN, -0.01, -0.05, 0.03, 40))
                .isEqualTo(
                        "no difference found between inline and reference in mean latency: -0.010 µs, 95 % CI -0.050 to"
                                + " 0.030, 40 pairs; this run could have seen 0.080 µs");
        assertThat(sentence(Metric.MEAN, -0.21, -0.25, -0.17, 9))
                .isEqualTo("inline and reference: 9 pairs are too few to conclude, ask for at least 10");
    }

    private static String sentence(Metric metric, double mean, double low, double high, int pairs) {
        return new Difference(metric, "inline", "reference", mean, 15, new Interval(low, high), 0.08, pairs).sentence();
    }
}

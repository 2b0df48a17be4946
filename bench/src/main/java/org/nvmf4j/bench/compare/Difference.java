package org.nvmf4j.bench.compare;

import org.apache.commons.statistics.descriptive.Mean;
import org.apache.commons.statistics.distribution.TDistribution;

/**
 * How one arm differs from another in one metric, over the pairs of runs that were made next to each other.
 *
 * @param metric that is compared
 * @param arm the one
 * @param baseline what it is compared with
 * @param mean of {@code arm − baseline} over the pairs
 * @param baselineMean of the baseline's runs, to relate the difference to
 * @param interval of the mean difference, at {@link #CONFIDENCE}; Student's where there are fewer than {@link #MIN_PAIRS}
 * @param detectable the true difference that as many pairs of such a spread would have found in {@link #POWER} of all cases
 * @param pairs number of pairs
 */
public record Difference(
        Metric metric,
        String arm,
        String baseline,
        double mean,
        double baselineMean,
        Interval interval,
        double detectable,
        int pairs) {
    public static final double CONFIDENCE = 0.95;
    public static final double POWER = 0.8;
    /** Fewer pairs than these do not support a conclusion. */
    public static final int MIN_PAIRS = 10;

    /** What can be said. */
    public enum Verdict {
        BETTER,
        WORSE,
        NONE_FOUND,
        TOO_FEW_PAIRS
    }

    /**
     * Compares pair by pair.
     *
     * @param of values of the arm, at least two
     * @param with values of the baseline, as many, of the same pairs
     * @param seed of the bootstrap
     */
    static Difference between(Metric metric, String arm, double[] of, String baseline, double[] with, long seed) {
        double[] differences = new double[of.length];
        for (int i = 0; i < of.length; i++) {
            differences[i] = of[i] - with[i];
        }
        double mean = Mean.of(differences).getAsDouble();
        double error = Bootstrap.standardError(differences);
        TDistribution student = TDistribution.of(of.length - 1);
        double usual = student.inverseCumulativeProbability((1 + CONFIDENCE) / 2);
        // Few differences give few different resamples, and so do many that are alike: never trust less than Student's
        // interval. One
        // far out among many alike makes the bootstrap's useless, where Student's is on the safe side already.
        double critical = of.length < MIN_PAIRS
                ? usual
                : Math.clamp(Bootstrap.criticalValue(differences, CONFIDENCE, seed), usual, 2 * usual);
        double powerful = student.inverseCumulativeProbability(POWER);
        return new Difference(
                metric,
                arm,
                baseline,
                mean,
                Mean.of(with).getAsDouble(),
                new Interval(mean - critical * error, mean + critical * error),
                (critical + powerful) * error,
                of.length);
    }

    public Verdict verdict() {
        if (pairs < MIN_PAIRS) {
            return Verdict.TOO_FEW_PAIRS;
        }
        if (interval.contains(0)) {
            return Verdict.NONE_FOUND;
        }
        return mean > 0 == metric.moreIsBetter() ? Verdict.BETTER : Verdict.WORSE;
    }

    /** The difference relative to the baseline, in percent. */
    public double percent() {
        return 100 * mean / baselineMean;
    }

    /** What the pairs say, in one sentence without a full stop. */
    public String sentence() {
        return switch (verdict()) {
            case TOO_FEW_PAIRS ->
                arm + " and " + baseline + ": " + pairs + " pairs are too few to conclude, ask for at least "
                        + MIN_PAIRS;
            case NONE_FOUND ->
                "no difference found between " + arm + " and " + baseline + " in " + metric.label() + ": "
                        + amount(mean) + ", 95 % CI " + range(interval) + ", " + pairs
                        + " pairs; this run could have seen " + amount(detectable);
            case BETTER, WORSE -> {
                boolean lower = mean < 0;
                yield arm + " is " + amount(Math.abs(mean)) + " " + word(lower) + " than " + baseline + " in "
                        + metric.label() + ", 95 % CI " + range(lower ? interval.scaled(-1) : interval) + ", " + pairs
                        + " pairs";
            }
        };
    }

    private String word(boolean lower) {
        if (metric == Metric.IOPS) {
            return lower ? "lower" : "higher";
        }
        return lower ? "faster" : "slower";
    }

    private String amount(double value) {
        return metric.format(value) + " " + metric.unit();
    }

    private String range(Interval of) {
        return metric.format(of.low()) + " to " + metric.format(of.high());
    }
}

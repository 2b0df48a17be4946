package org.nvmf4j.bench.compare;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.apache.commons.statistics.descriptive.Mean;
import org.apache.commons.statistics.descriptive.Quantile;
import org.apache.commons.statistics.descriptive.StandardDeviation;

/**
 * The symmetric studentized bootstrap of a mean (P. Hall, On Symmetric Bootstrap Confidence Intervals, 1988): a quantile of the
 * absolute t statistics of resamples takes the place of Student's. With a few dozen values it errs on the safe side where their
 * distribution has heavy tails, as latencies do; the percentile and the equal-tailed studentized bootstrap then find what is not
 * there in up to twice as many cases as they state.
 */
final class Bootstrap {
    private static final int RESAMPLES = 2_000;

    private Bootstrap() {}

    /**
     * By how many standard errors the mean of the values may be off.
     *
     * @param values at least two
     * @param confidence between 0 and 1
     * @param seed of the resampling: the same seed gives the same answer
     */
    static double criticalValue(double[] values, double confidence, long seed) {
        double mean = Mean.of(values).getAsDouble();
        SplittableRandom random = new SplittableRandom(seed);
        double[] statistics = new double[RESAMPLES];
        double[] resample = new double[values.length];
        int count = 0;
        for (int i = 0; i < RESAMPLES; i++) {
            for (int j = 0; j < resample.length; j++) {
                resample[j] = values[random.nextInt(values.length)];
            }
            double error = standardError(resample);
            if (error > 0) { // one that drew the same value each time says nothing
                statistics[count++] = Math.abs(Mean.of(resample).getAsDouble() - mean) / error;
            }
        }
        return count == 0 ? 0 : Quantile.withDefaults().evaluate(Arrays.copyOf(statistics, count), confidence);
    }

    /** Of the mean. */
    static double standardError(double[] values) {
        return StandardDeviation.of(values).getAsDouble() / Math.sqrt(values.length);
    }
}

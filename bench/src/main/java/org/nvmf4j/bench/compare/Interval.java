package org.nvmf4j.bench.compare;

/** A confidence interval of a mean, both ends included. */
public record Interval(double low, double high) {
    public boolean contains(double value) {
        return low <= value && value <= high;
    }

    Interval scaled(double factor) {
        return factor < 0 ? new Interval(high * factor, low * factor) : new Interval(low * factor, high * factor);
    }
}

package org.nvmf4j.bench.compare;

import java.util.Locale;

/** What is compared. Latencies are completion latencies, from submission to completion, of all requests of a run. */
public enum Metric {
    MEAN("mean", "mean latency", "µs", false),
    P50("p50", "median latency", "µs", false),
    P99("p99", "99th percentile latency", "µs", false),
    IOPS("iops", "IOPS", "IOPS", true);

    private final String key;
    private final String label;
    private final String unit;
    private final boolean moreIsBetter;

    Metric(String key, String label, String unit, boolean moreIsBetter) {
        this.key = key;
        this.label = label;
        this.unit = unit;
        this.moreIsBetter = moreIsBetter;
    }

    /** Of a column. */
    String heading() {
        return this == IOPS ? "IOPS" : key + ", " + unit;
    }

    /** In JSON. */
    public String key() {
        return key;
    }

    /** For people. */
    public String label() {
        return label;
    }

    public String unit() {
        return unit;
    }

    public boolean moreIsBetter() {
        return moreIsBetter;
    }

    /** A value or a difference with as many digits as make sense, without the unit. */
    public String format(double value) {
        String text = String.format(Locale.ROOT, this == IOPS ? "%,.0f" : "%.3f", value);
        return text.matches("-[0.,]*") ? text.substring(1) : text;
    }
}

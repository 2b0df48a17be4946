package org.nvmf4j.bench;

import java.util.Locale;

/** The percentiles that fio reports by default. */
public final class Percentiles {
    private static final double[] FIO = {1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99};

    private Percentiles() {}

    /** In rising order. */
    public static double[] fio() {
        return FIO.clone();
    }

    /** As fio's JSON names one: six decimals. */
    public static String name(double percentile) {
        return String.format(Locale.ROOT, "%.6f", percentile);
    }
}

package org.nvmf4j.bench;

/** The percentiles that fio reports by default. */
final class Percentiles {
    private static final double[] FIO = {1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99};

    private Percentiles() {}

    /** In rising order. */
    static double[] fio() {
        return FIO.clone();
    }
}

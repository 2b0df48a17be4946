package org.nvmf4j.bench.compare;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * A linear scale from values to pixels, with ticks at round values.
 *
 * @param low value at {@code from}
 * @param high value at {@code to}
 * @param from pixel
 * @param to pixel
 */
record Axis(double low, double high, double from, double to) {
    private static final int TICKS = 6;

    Axis {
        if (!(low < high)) { // all values alike: show some room around them
            double room = Math.max(Math.abs(low) * 0.01, 1e-3);
            low -= room;
            high += room;
        }
    }

    /** An axis that shows a range with some room at both ends. */
    static Axis around(double low, double high, double from, double to) {
        double room = (high - low) * 0.06;
        return new Axis(low - room, high + room, from, to);
    }

    double pixel(double value) {
        return from + (value - low) / (high - low) * (to - from);
    }

    List<Double> ticks() {
        double step = step();
        List<Double> ticks = new ArrayList<>();
        for (long i = (long) Math.ceil(low / step); i * step <= high; i++) {
            ticks.add(i * step);
        }
        return ticks;
    }

    /** 1, 2 or 5 times a power of ten. */
    private double step() {
        double rough = (high - low) / TICKS;
        double power = Math.pow(10, Math.floor(Math.log10(rough)));
        double lead = rough / power;
        return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
    }

    String label(double tick) {
        int digits = (int) Math.max(0, -Math.floor(Math.log10(step()) + 1e-9));
        return String.format(Locale.ROOT, "%." + digits + "f", tick == 0 ? 0.0 : tick);
    }
}

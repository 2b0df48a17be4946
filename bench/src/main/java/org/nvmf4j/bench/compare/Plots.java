package org.nvmf4j.bench.compare;

import java.util.ArrayList;
import java.util.List;
import org.HdrHistogram.Histogram;

/** The pictures of a comparison. */
final class Plots {
    private static final int WIDTH = 760;
    private static final int LEFT = 70;
    private static final int RIGHT = 20;
    private static final int BOTTOM = 44;
    private static final int ROW = 46;
    private static final double NANOS_PER_MICRO = 1_000;

    /** Okabe and Ito's colours, which everybody can tell apart. */
    private static final List<String> COLOURS =
            List.of("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9");

    private static final double[] PERCENTILES = {0, 50, 90, 99, 99.9, 99.99};
    /** −log10(1 − p), up to which the percentiles go: 99.99 %. */
    private static final double LAST_NINES = 4;

    private Plots() {}

    static String colour(int arm) {
        return COLOURS.get(arm % COLOURS.size());
    }

    /** Mean latency differences with their intervals, one row an arm, around zero. */
    static String differences(Comparison comparison) {
        List<Difference> all = comparison.arms().stream()
                .skip(1)
                .map(arm -> comparison.difference(arm, Metric.MEAN))
                .toList();
        int height = 24 + ROW * all.size() + BOTTOM;
        Svg svg = new Svg(WIDTH, height, "difference of the mean latency");
        double low = all.stream().mapToDouble(d -> d.interval().low()).min().orElse(0);
        double high = all.stream().mapToDouble(d -> d.interval().high()).max().orElse(0);
        Axis x = Axis.around(Math.min(0, low), Math.max(0, high), 150, WIDTH - RIGHT);
        int floor = height - BOTTOM;
        xAxis(svg, x, 8, floor, "µs more or less than " + comparison.baseline().name() + ", mean latency, 95 % CI");
        svg.line("zero", x.pixel(0), 8, x.pixel(0), floor);
        for (int i = 0; i < all.size(); i++) {
            Difference difference = all.get(i);
            double y = 24 + ROW * (i + 0.5);
            svg.text("label", "end", 140, y + 4, difference.arm());
            svg.stroke(
                    colour(i + 1),
                    x.pixel(difference.interval().low()),
                    y,
                    x.pixel(difference.interval().high()),
                    y);
            svg.dot(colour(i + 1), x.pixel(difference.mean()), y, 5);
        }
        return svg.toString();
    }

    /** Every pair's difference in the order of measuring, and the interval of their mean. */
    static String pairs(Comparison comparison) {
        int height = 260;
        int floor = height - BOTTOM;
        Svg svg = new Svg(WIDTH, height, "the pairs");
        int pairs = comparison.pairs();
        List<double[]> all = new ArrayList<>();
        double low = 0;
        double high = 0;
        double[] baseline = comparison.baseline().values(Metric.MEAN);
        for (ArmRuns arm : comparison.arms().subList(1, comparison.arms().size())) {
            double[] values = arm.values(Metric.MEAN);
            for (int i = 0; i < pairs; i++) {
                values[i] -= baseline[i];
                low = Math.min(low, values[i]);
                high = Math.max(high, values[i]);
            }
            all.add(values);
            Interval interval = comparison.difference(arm, Metric.MEAN).interval();
            low = Math.min(low, interval.low());
            high = Math.max(high, interval.high());
        }
        Axis y = Axis.around(low, high, floor, 8);
        Axis x = new Axis(0, pairs + 1, LEFT, WIDTH - RIGHT);
        yAxis(svg, y, LEFT, WIDTH - RIGHT, "µs");
        svg.text("axis", "middle", (LEFT + WIDTH - RIGHT) / 2.0, height - 10, "pair, in the order of measuring");
        svg.line("zero", LEFT, y.pixel(0), WIDTH - RIGHT, y.pixel(0));
        for (int arm = 0; arm < all.size(); arm++) {
            Interval interval = comparison
                    .difference(comparison.arms().get(arm + 1), Metric.MEAN)
                    .interval();
            double top = y.pixel(interval.high());
            svg.band(colour(arm + 1), LEFT, top, WIDTH - RIGHT - LEFT, Math.max(1, y.pixel(interval.low()) - top));
            double[] values = all.get(arm);
            for (int i = 0; i < values.length; i++) {
                svg.dot(colour(arm + 1), x.pixel(i + 1), y.pixel(values[i]), 3);
            }
        }
        return svg.toString();
    }

    /** How often each latency was seen, from the fastest to the 99th percentile of the slowest arm. */
    static String density(Comparison comparison) {
        int height = 280;
        int floor = height - BOTTOM;
        int bins = 120;
        Svg svg = new Svg(WIDTH, height, "latency distribution");
        double low = comparison.arms().stream()
                        .mapToLong(arm -> arm.latencyNanos().getValueAtPercentile(0.1))
                        .min()
                        .orElse(0)
                / NANOS_PER_MICRO;
        double high = comparison.arms().stream()
                        .mapToLong(arm -> arm.latencyNanos().getValueAtPercentile(99))
                        .max()
                        .orElse(0)
                / NANOS_PER_MICRO;
        Axis x = new Axis(low, high, LEFT, WIDTH - RIGHT);
        double width = (x.high() - x.low()) / bins;
        List<double[]> shares = new ArrayList<>();
        double most = 0;
        for (ArmRuns arm : comparison.arms()) {
            double[] share = new double[bins];
            for (int i = 0; i < bins; i++) {
                share[i] = percentBetween(arm.latencyNanos(), x.low() + i * width, x.low() + (i + 1) * width);
                most = Math.max(most, share[i]);
            }
            shares.add(share);
        }
        Axis y = new Axis(0, most * 1.05, floor, 8);
        xAxis(svg, x, 8, floor, "completion latency, µs (0.1st to 99th percentile)");
        yAxis(svg, y, LEFT, WIDTH - RIGHT, "%");
        for (int arm = 0; arm < shares.size(); arm++) {
            svg.curve(colour(arm), steps(shares.get(arm), x, y, width));
        }
        return svg.toString();
    }

    private static double percentBetween(Histogram histogram, double fromMicros, double toMicros) {
        long from = Math.max(0, Math.round(fromMicros * NANOS_PER_MICRO));
        long to = Math.max(from, Math.round(toMicros * NANOS_PER_MICRO) - 1);
        return 100.0 * histogram.getCountBetweenValues(from, to) / histogram.getTotalCount();
    }

    private static double[] steps(double[] shares, Axis x, Axis y, double width) {
        double[] points = new double[4 * shares.length];
        for (int i = 0; i < shares.length; i++) {
            points[4 * i] = x.pixel(x.low() + i * width);
            points[4 * i + 1] = y.pixel(shares[i]);
            points[4 * i + 2] = x.pixel(x.low() + (i + 1) * width);
            points[4 * i + 3] = y.pixel(shares[i]);
        }
        return points;
    }

    /** Latency by percentile, with more room the further out: each further nine takes as much as the one before. */
    static String percentiles(Comparison comparison) {
        int height = 280;
        int floor = height - BOTTOM;
        int points = 200;
        Svg svg = new Svg(WIDTH, height, "latency by percentile");
        Axis x = new Axis(0, LAST_NINES, LEFT, WIDTH - RIGHT);
        double low = Double.MAX_VALUE;
        double high = 0;
        for (ArmRuns arm : comparison.arms()) {
            low = Math.min(low, Math.log10(arm.latencyNanos().getMinNonZeroValue() / NANOS_PER_MICRO));
            high = Math.max(high, Math.log10(arm.latencyNanos().getValueAtPercentile(99.99) / NANOS_PER_MICRO));
        }
        Axis y = Axis.around(low, high, floor, 8);
        for (double percentile : PERCENTILES) {
            double at = x.pixel(-Math.log10(1 - percentile / 100));
            svg.line("grid", at, 8, at, floor);
            svg.text(
                    "tick",
                    "middle",
                    at,
                    floor + 16,
                    percentile == 0 ? "0" : Double.toString(percentile).replaceFirst("\\.0$", ""));
        }
        svg.text("axis", "middle", (LEFT + WIDTH - RIGHT) / 2.0, height - 6, "percentile");
        logAxis(svg, y, LEFT, WIDTH - RIGHT);
        for (int arm = 0; arm < comparison.arms().size(); arm++) {
            Histogram histogram = comparison.arms().get(arm).latencyNanos();
            double[] curve = new double[2 * (points + 1)];
            for (int i = 0; i <= points; i++) {
                double nines = LAST_NINES * i / points;
                long nanos = histogram.getValueAtPercentile(100 * (1 - Math.pow(10, -nines)));
                curve[2 * i] = x.pixel(nines);
                curve[2 * i + 1] = y.pixel(Math.log10(Math.max(1, nanos) / NANOS_PER_MICRO));
            }
            svg.curve(colour(arm), curve);
        }
        return svg.toString();
    }

    private static void xAxis(Svg svg, Axis x, double top, double floor, String label) {
        for (double tick : x.ticks()) {
            svg.line("grid", x.pixel(tick), top, x.pixel(tick), floor);
            svg.text("tick", "middle", x.pixel(tick), floor + 16, x.label(tick));
        }
        svg.text("axis", "middle", (x.from() + x.to()) / 2, floor + 36, label);
    }

    private static void yAxis(Svg svg, Axis y, double left, double right, String unit) {
        for (double tick : y.ticks()) {
            svg.line("grid", left, y.pixel(tick), right, y.pixel(tick));
            svg.text("tick", "end", left - 6, y.pixel(tick) + 4, y.label(tick));
        }
        svg.text("axis", "start", 4, 16, unit);
    }

    /** Ticks at 1, 2 and 5 of each decade. */
    private static void logAxis(Svg svg, Axis y, double left, double right) {
        for (int decade = (int) Math.floor(y.low()); decade <= y.high(); decade++) {
            for (int lead : new int[] {1, 2, 5}) {
                double value = lead * Math.pow(10, decade);
                double at = Math.log10(value);
                if (at >= y.low() && at <= y.high()) {
                    svg.line("grid", left, y.pixel(at), right, y.pixel(at));
                    svg.text(
                            "tick",
                            "end",
                            left - 6,
                            y.pixel(at) + 4,
                            value < 1 ? Double.toString(value) : Long.toString(Math.round(value)));
                }
            }
        }
        svg.text("axis", "start", 4, 16, "µs");
    }
}

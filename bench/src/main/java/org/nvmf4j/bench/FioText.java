package org.nvmf4j.bench;

import java.util.Locale;
import org.HdrHistogram.Histogram;

/** A result as fio's readers know it. */
public final class FioText {
    private static final int PER_LINE = 4;

    private FioText() {}

    /** Several lines, with a line feed at the end. */
    public static String of(BenchResult result) {
        StringBuilder out = new StringBuilder();
        Workload w = result.workload();
        out.append(format("%s: %s: %s%n", w.name(), summary(w), result.target()));
        direction(out, "read", result.reads());
        direction(out, "write", result.writes());
        if (w.verify()) {
            out.append(format("  verify: %d blocks checked, all right%n", result.verifiedBlocks()));
        }
        return out.toString();
    }

    /** The options that matter most. */
    public static String summary(Workload w) {
        return format(
                "rw=%s, bs=%s, ioengine=nvmf, iodepth=%d, jobs=%d",
                w.readWrite().word(), bytes(w.blockBytes()), w.iodepth(), w.jobs());
    }

    private static void direction(StringBuilder out, String name, DirectionResult d) {
        if (d.ios() == 0) {
            return;
        }
        Histogram h = d.latencyNanos();
        out.append(format(
                "  %s: IOPS=%s, BW=%s/s (%sB/s)(%s/%dmsec)%n",
                name,
                thousands(d.iops()),
                bytes(d.bytesPerSecond()),
                decimal(d.bytesPerSecond()),
                bytes((double) d.bytes()),
                d.runtimeNanos() / 1_000_000));
        boolean micros = h.getMean() >= 10_000;
        double unit = micros ? 1_000 : 1;
        String unitName = micros ? "usec" : "nsec";
        out.append(format(
                "    clat (%s): min=%s, max=%s, avg=%.2f, stdev=%.2f%n",
                unitName,
                number(h.getMinValue() / unit),
                number(h.getMaxValue() / unit),
                h.getMean() / unit,
                h.getStdDeviation() / unit));
        out.append(format("    clat percentiles (%s):", unitName));
        double[] percentiles = Percentiles.fio();
        for (int i = 0; i < percentiles.length; i++) {
            out.append(i % PER_LINE == 0 ? format("%n     | ") : ", ");
            out.append(format("%5.2fth=[%6s]", percentiles[i], number(h.getValueAtPercentile(percentiles[i]) / unit)));
        }
        out.append(format("%n"));
    }

    private static String thousands(double value) {
        return value >= 10_000
                ? format("%.0fk", value / 1000)
                : value >= 1000 ? format("%.1fk", value / 1000) : number(value);
    }

    /** Bytes in the largest binary unit. */
    public static String bytes(double value) {
        return scaled(value, 1024, "B", "KiB", "MiB", "GiB", "TiB");
    }

    private static String decimal(double value) {
        return scaled(value, 1000, "", "k", "M", "G", "T");
    }

    private static String scaled(double value, double step, String... units) {
        double v = value;
        int unit = 0;
        while (v >= step && unit < units.length - 1) {
            v /= step;
            unit++;
        }
        return (v >= 100 || v == Math.rint(v) ? format("%.0f", v) : format("%.1f", v)) + units[unit];
    }

    private static String number(double value) {
        return format("%.0f", value);
    }

    private static String format(String pattern, Object... arguments) {
        return String.format(Locale.ROOT, pattern, arguments);
    }
}

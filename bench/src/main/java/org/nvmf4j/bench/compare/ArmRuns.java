package org.nvmf4j.bench.compare;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;
import org.apache.commons.statistics.descriptive.Mean;
import org.apache.commons.statistics.descriptive.StandardDeviation;
import org.nvmf4j.bench.BenchResult;

/** The runs of one arm that counted, in the order of their pairs. */
public final class ArmRuns {
    private static final double NANOS_PER_MICRO = 1_000;

    private final String name;
    private final String description;
    private final Map<Metric, List<Double>> values = new EnumMap<>(Metric.class);
    private final Histogram latencyNanos = new Histogram(3);
    private final Map<String, Long> counters = new TreeMap<>();

    ArmRuns(String name, String description) {
        this.name = name;
        this.description = description;
    }

    void add(BenchResult result) {
        Histogram all = new Histogram(3);
        all.add(result.reads().latencyNanos());
        all.add(result.writes().latencyNanos());
        latencyNanos.add(all);
        add(Metric.MEAN, all.getMean() / NANOS_PER_MICRO);
        add(Metric.P50, all.getValueAtPercentile(50) / NANOS_PER_MICRO);
        add(Metric.P99, all.getValueAtPercentile(99) / NANOS_PER_MICRO);
        add(Metric.IOPS, result.reads().iops() + result.writes().iops());
        result.deviceCounters().forEach((counter, count) -> counters.merge(counter, count, Long::sum));
    }

    void add(Metric metric, double value) {
        list(metric).add(value);
    }

    private List<Double> list(Metric metric) {
        return values.computeIfAbsent(metric, _ -> new ArrayList<>());
    }

    public String name() {
        return name;
    }

    public String description() {
        return description;
    }

    /** One value a run. */
    public double[] values(Metric metric) {
        return list(metric).stream().mapToDouble(Double::doubleValue).toArray();
    }

    public double mean(Metric metric) {
        return Mean.of(values(metric)).getAsDouble();
    }

    /** From run to run. */
    public double standardDeviation(Metric metric) {
        return StandardDeviation.of(values(metric)).getAsDouble();
    }

    /** Latencies of all runs together. */
    public Histogram latencyNanos() {
        return latencyNanos;
    }

    /** What the host's device counted in all runs. */
    public Map<String, Long> counters() {
        return counters;
    }

    /** Share of this arm's SENDs and RDMA WRITEs that the device got inline, in percent. */
    public double inlinePercent() {
        long inline = counters.getOrDefault("inline_posts", 0L);
        long all = inline + counters.getOrDefault("by_reference_posts", 0L);
        return all == 0 ? 0 : 100.0 * inline / all;
    }
}

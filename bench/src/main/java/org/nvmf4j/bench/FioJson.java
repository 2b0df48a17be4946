package org.nvmf4j.bench;

import java.io.IOException;
import java.io.OutputStream;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import org.HdrHistogram.Histogram;
import tools.jackson.core.JsonGenerator;

/** A result in fio's JSON, with the members that its readers use; what does not apply is 0. */
public final class FioJson {
    private FioJson() {}

    /**
     * Writes the document; the stream stays open.
     *
     * @param version of this program
     * @param when the run ended
     */
    public static void write(BenchResult result, String version, Instant when, OutputStream out) throws IOException {
        try (JsonGenerator json = PrettyJson.generator(out)) {
            document(result, version, when, json);
        }
        out.write('\n');
    }

    private static void document(BenchResult result, String version, Instant when, JsonGenerator json) {
        Workload w = result.workload();
        json.writeStartObject();
        json.writeStringProperty("fio version", version);
        json.writeNumberProperty("timestamp", when.getEpochSecond());
        json.writeNumberProperty("timestamp_ms", when.toEpochMilli());
        json.writeStringProperty(
                "time",
                DateTimeFormatter.ofPattern("EEE MMM d HH:mm:ss yyyy", Locale.ROOT)
                        .withZone(ZoneOffset.UTC)
                        .format(when));
        json.writeArrayPropertyStart("jobs");
        json.writeStartObject();
        json.writeStringProperty("jobname", w.name());
        json.writeNumberProperty("groupid", 0);
        json.writeNumberProperty("error", 0);
        options(result, json);
        direction("read", result.reads(), json);
        direction("write", result.writes(), json);
        json.writeNumberProperty("verified_blocks", result.verifiedBlocks());
        json.writeEndObject();
        json.writeEndArray();
        json.writeEndObject();
    }

    private static void options(BenchResult result, JsonGenerator json) {
        Workload w = result.workload();
        json.writeObjectPropertyStart("job options");
        json.writeStringProperty("name", w.name());
        json.writeStringProperty("ioengine", "nvmf");
        json.writeStringProperty("filename", result.target());
        json.writeStringProperty("rw", w.readWrite().word());
        json.writeStringProperty("bs", Integer.toString(w.blockBytes()));
        json.writeStringProperty("iodepth", Integer.toString(w.iodepth()));
        json.writeStringProperty("numjobs", Integer.toString(w.jobs()));
        json.writeStringProperty("size", Long.toString(w.sizeBytes()));
        json.writeStringProperty("runtime", w.runtimeMillis() + "ms");
        json.writeStringProperty("rwmixread", Integer.toString(w.rwmixread()));
        json.writeStringProperty("randseed", Long.toString(w.seed()));
        if (w.verify()) {
            json.writeStringProperty("verify", "crc32c");
        }
        json.writeEndObject();
    }

    private static void direction(String name, DirectionResult d, JsonGenerator json) {
        json.writeObjectPropertyStart(name);
        json.writeNumberProperty("io_bytes", d.bytes());
        json.writeNumberProperty("io_kbytes", d.bytes() / 1024);
        json.writeNumberProperty("bw_bytes", (long) d.bytesPerSecond());
        json.writeNumberProperty("bw", (long) (d.bytesPerSecond() / 1024));
        json.writeNumberProperty("iops", d.iops());
        json.writeNumberProperty("runtime", d.runtimeNanos() / 1_000_000);
        json.writeNumberProperty("total_ios", d.ios());
        latency("clat_ns", d.latencyNanos(), json);
        latency("lat_ns", d.latencyNanos(), json);
        json.writeEndObject();
    }

    private static void latency(String name, Histogram h, JsonGenerator json) {
        boolean any = h.getTotalCount() > 0;
        json.writeObjectPropertyStart(name);
        json.writeNumberProperty("min", any ? h.getMinValue() : 0);
        json.writeNumberProperty("max", any ? h.getMaxValue() : 0);
        json.writeNumberProperty("mean", any ? h.getMean() : 0.0);
        json.writeNumberProperty("stddev", any ? h.getStdDeviation() : 0.0);
        json.writeNumberProperty("N", h.getTotalCount());
        if (any) {
            json.writeObjectPropertyStart("percentile");
            for (double p : Percentiles.fio()) {
                json.writeNumberProperty(Percentiles.name(p), h.getValueAtPercentile(p));
            }
            json.writeEndObject();
        }
        json.writeEndObject();
    }
}

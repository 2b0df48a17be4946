package org.nvmf4j.bench.compare;

import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.HdrHistogram.Histogram;
import org.nvmf4j.bench.Percentiles;
import org.nvmf4j.bench.PrettyJson;
import tools.jackson.core.JsonGenerator;

/**
 * A comparison on paper: text for the terminal, a web page that needs nothing beside it, JSON with every pair, and Markdown.
 *
 * @param comparison of at least two pairs
 * @param title what was compared
 * @param metrics what the sentences are about
 * @param setting what ran where: workload, peers, machine; names and values in the order of the report
 * @param command that repeats it
 * @param when it ended
 */
public record ComparisonReport(
        Comparison comparison,
        String title,
        List<Metric> metrics,
        Map<String, String> setting,
        String command,
        Instant when) {
    /** The web page's name in its folder. */
    public static final String PAGE = "compare.html";

    private static final String METHOD = """
            Each round runs every arm once, on a connection of its own, in a random order; a pair is two runs of one round, so that what \
            drifts on the machine meets both alike. The figures are means over the rounds ± the standard deviation from round to \
            round; differences are means over the pairs with 95 % confidence intervals, with ten pairs or more by the symmetric studentized \
            bootstrap. "Could have \
            seen" is the difference that as many pairs of such a spread find in 80 % of all cases.""";

    /** Tables and sentences. */
    public String text() {
        return Table.ofArms(comparison).text()
                + '\n'
                + Table.ofDifferences(comparison).text()
                + '\n'
                + String.join("\n", comparison.sentences(metrics))
                + '\n';
    }

    /**
     * Writes {@code compare.html}, {@code compare.json} and {@code compare.md} to a folder, which is made if need be.
     *
     * @return the web page
     */
    public Path writeTo(Path folder) throws IOException {
        Files.createDirectories(folder);
        Path page = folder.resolve(PAGE);
        Files.writeString(page, html());
        Files.writeString(folder.resolve("compare.md"), markdown());
        try (Writer out = Files.newBufferedWriter(folder.resolve("compare.json"))) {
            json(out);
        }
        return page;
    }

    String markdown() {
        return "### " + title + "\n\n"
                + comparison.sentences(metrics).stream()
                        .map(line -> "- " + line + "\n")
                        .collect(Collectors.joining())
                + '\n'
                + comparison.arms().stream()
                        .map(arm -> "- " + arm.name() + ": " + arm.description() + "\n")
                        .collect(Collectors.joining())
                + '\n' + Table.ofArms(comparison).markdown()
                + '\n' + Table.ofDifferences(comparison).markdown()
                + '\n' + METHOD + "\n\n"
                + setting.entrySet().stream()
                        .map(entry -> entry.getKey() + ": " + entry.getValue())
                        .collect(Collectors.joining("; ", "", ".\n"))
                + "\n    " + command + '\n';
    }

    // The web page.

    private static final String STYLE = """
            body { font: 15px/1.5 system-ui, sans-serif; max-width: 800px; margin: 2em auto; padding: 0 1em; color: #222; background: #fff }
            h1 { font-size: 1.5em } h2 { font-size: 1.1em; margin-top: 2em }
            table { border-collapse: collapse; margin: 1em 0; font-size: 13px; font-variant-numeric: tabular-nums }
            td, th { padding: 3px 8px; text-align: right; border-bottom: 1px solid #ddd } th { font-weight: 600 }
            td:first-child, th:first-child { text-align: left } td { white-space: nowrap } .facts td { text-align: left; white-space: normal }
            .sentence { font-size: 1.1em; padding: .4em .8em; border-left: 4px solid #888; background: #f5f5f5; margin: .5em 0 }
            pre { background: #f5f5f5; padding: .6em .8em; overflow-x: auto; font-size: 12.5px }
            svg { width: 100%; height: auto } .key span { display: inline-block; margin-right: 1.5em }
            .key i { display: inline-block; width: 1em; height: .3em; margin-right: .4em; vertical-align: middle }
            text { font: 12px system-ui, sans-serif; fill: #444 } text.label { font-size: 13px; fill: #222 }
            .grid { stroke: #e5e5e5 } .zero { stroke: #444; stroke-dasharray: 4 3 } .stroke { stroke-width: 3 }
            .curve { fill: none; stroke-width: 1.6 } .band { opacity: .18 } circle { fill-opacity: .75 }
            """;

    String html() {
        StringBuilder page = new StringBuilder();
        page.append("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n")
                .append("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>")
                .append(Markup.escape(title))
                .append("</title>\n<style>\n")
                .append(STYLE)
                .append("</style>\n</head>\n<body>\n<h1>")
                .append(Markup.escape(title))
                .append("</h1>\n");
        comparison
                .sentences(metrics)
                .forEach(sentence -> page.append("<p class=\"sentence\">")
                        .append(Markup.escape(sentence))
                        .append(".</p>\n"));
        section(
                page,
                "The difference",
                Plots.differences(comparison) + Table.ofDifferences(comparison).html());
        section(page, "The arms", Table.ofArms(comparison).html() + arms());
        section(page, "The pairs", key(1) + Plots.pairs(comparison));
        section(page, "Latency distribution", key(0) + Plots.density(comparison));
        section(page, "Latency by percentile", key(0) + Plots.percentiles(comparison));
        section(page, "Method", "<p>" + Markup.escape(METHOD) + "</p>\n");
        section(page, "Machine and peers", facts(setting));
        section(page, "Repeat it", "<pre>" + Markup.escape(command) + "</pre>\n");
        return page.append("</body>\n</html>\n").toString();
    }

    private static void section(StringBuilder page, String heading, String content) {
        page.append("<h2>").append(heading).append("</h2>\n").append(content);
    }

    /** Which colour is which arm. */
    private String key(int first) {
        StringBuilder key = new StringBuilder("<p class=\"key\">");
        for (int i = first; i < comparison.arms().size(); i++) {
            key.append("<span><i style=\"background:")
                    .append(Plots.colour(i))
                    .append("\"></i>")
                    .append(Markup.escape(comparison.arms().get(i).name()))
                    .append("</span>");
        }
        return key.append("</p>\n").toString();
    }

    private String arms() {
        return comparison.arms().stream()
                .map(arm ->
                        "<li><b>" + Markup.escape(arm.name()) + "</b>: " + Markup.escape(arm.description()) + "</li>\n")
                .collect(Collectors.joining("", "<ul>\n", "</ul>\n"));
    }

    private static String facts(Map<String, String> facts) {
        return facts.entrySet().stream()
                .map(fact -> "<tr><td>" + Markup.escape(fact.getKey()) + "</td><td>" + Markup.escape(fact.getValue())
                        + "</td></tr>\n")
                .collect(Collectors.joining("", "<table class=\"facts\">\n", "</table>\n"));
    }

    // JSON.

    private void json(Writer out) {
        try (JsonGenerator json = PrettyJson.generator(out)) {
            json.writeStartObject();
            json.writeStringProperty("title", title);
            json.writeStringProperty(
                    "time", when.truncatedTo(ChronoUnit.SECONDS).toString());
            json.writeStringProperty("command", command);
            json.writeObjectPropertyStart("setting");
            setting.forEach(json::writeStringProperty);
            json.writeEndObject();
            json.writeNumberProperty("pairs", comparison.pairs());
            json.writeNumberProperty("warm_up_rounds", comparison.plan().warmUps());
            json.writeNumberProperty("seed", comparison.plan().seed());
            json.writeArrayPropertyStart("sentences");
            comparison.sentences(metrics).forEach(json::writeString);
            json.writeEndArray();
            json.writeArrayPropertyStart("arms");
            comparison.arms().forEach(arm -> arm(json, arm));
            json.writeEndArray();
            json.writeArrayPropertyStart("differences");
            for (ArmRuns arm : comparison.arms().subList(1, comparison.arms().size())) {
                List.of(Metric.values()).forEach(metric -> difference(json, comparison.difference(arm, metric)));
            }
            json.writeEndArray();
            json.writeEndObject();
        }
    }

    private static void arm(JsonGenerator json, ArmRuns arm) {
        json.writeStartObject();
        json.writeStringProperty("name", arm.name());
        json.writeStringProperty("description", arm.description());
        json.writeNumberProperty("posted_inline_percent", arm.inlinePercent());
        json.writeObjectPropertyStart("runs");
        for (Metric metric : Metric.values()) {
            json.writeArrayPropertyStart(metric.key());
            for (double value : arm.values(metric)) {
                json.writeNumber(value);
            }
            json.writeEndArray();
        }
        json.writeEndObject();
        Histogram latency = arm.latencyNanos();
        json.writeObjectPropertyStart("clat_ns_percentile");
        for (double percentile : Percentiles.fio()) {
            json.writeNumberProperty(Percentiles.name(percentile), latency.getValueAtPercentile(percentile));
        }
        json.writeEndObject();
        json.writeObjectPropertyStart("device_counters");
        arm.counters().forEach(json::writeNumberProperty);
        json.writeEndObject();
        json.writeEndObject();
    }

    private static void difference(JsonGenerator json, Difference difference) {
        json.writeStartObject();
        json.writeStringProperty("arm", difference.arm());
        json.writeStringProperty("baseline", difference.baseline());
        json.writeStringProperty("metric", difference.metric().key());
        json.writeStringProperty("unit", difference.metric().unit());
        json.writeNumberProperty("mean", difference.mean());
        json.writeNumberProperty("percent", difference.percent());
        json.writeNumberProperty("ci_low", difference.interval().low());
        json.writeNumberProperty("ci_high", difference.interval().high());
        json.writeNumberProperty("confidence", Difference.CONFIDENCE);
        json.writeNumberProperty("detectable", difference.detectable());
        json.writeStringProperty("verdict", difference.verdict().name().toLowerCase(java.util.Locale.ROOT));
        json.writeEndObject();
    }
}

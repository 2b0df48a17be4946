package org.nvmf4j.bench.compare;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Rows under a header, for people: the first column is text and the others are figures, which are set to the right.
 *
 * @param header one cell a column
 * @param rows as wide as the header
 */
record Table(List<String> header, List<List<String>> rows) {
    /** The runs of each arm: mean of the runs and their standard deviation. */
    static Table ofArms(Comparison comparison) {
        List<String> header = new ArrayList<>(List.of("arm"));
        for (Metric metric : Metric.values()) {
            header.add(metric.heading());
        }
        header.add("inline");
        List<List<String>> rows = new ArrayList<>();
        for (ArmRuns arm : comparison.arms()) {
            List<String> row = new ArrayList<>(List.of(arm.name()));
            for (Metric metric : Metric.values()) {
                row.add(metric.format(arm.mean(metric)) + " ± " + metric.format(arm.standardDeviation(metric)));
            }
            row.add(Math.round(arm.inlinePercent()) + " %");
            rows.add(row);
        }
        return new Table(header, rows);
    }

    /** How each other arm differs from the first. */
    static Table ofDifferences(Comparison comparison) {
        List<String> header =
                new ArrayList<>(List.of("minus " + comparison.baseline().name()));
        for (Metric metric : Metric.values()) {
            header.add(metric.heading());
        }
        List<List<String>> rows = new ArrayList<>();
        for (ArmRuns arm : comparison.arms().subList(1, comparison.arms().size())) {
            List<String> row = new ArrayList<>(List.of(arm.name()));
            for (Metric metric : Metric.values()) {
                Difference difference = comparison.difference(arm, metric);
                Interval interval = difference.interval();
                row.add(metric.format(difference.mean()) + " (" + metric.format(interval.low()) + " to "
                        + metric.format(interval.high()) + ")");
            }
            rows.add(row);
        }
        return new Table(header, rows);
    }

    /** For a terminal: columns as wide as they need, two blanks between them. */
    String text() {
        int[] widths = new int[header.size()];
        for (List<String> row : all()) {
            for (int i = 0; i < widths.length; i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        }
        StringBuilder text = new StringBuilder();
        for (List<String> row : all()) {
            for (int i = 0; i < widths.length; i++) {
                String padding = " ".repeat(widths[i] - row.get(i).length());
                text.append(i == 0 ? row.get(i) + padding : "  " + padding + row.get(i));
            }
            text.append('\n');
        }
        return text.toString();
    }

    String markdown() {
        String rule = header.stream()
                .map(cell -> cell.equals(header.getFirst()) ? "---" : "---:")
                .collect(Collectors.joining(" | ", "| ", " |\n"));
        StringBuilder text = new StringBuilder(markdownRow(header)).append(rule);
        rows.forEach(row -> text.append(markdownRow(row)));
        return text.toString();
    }

    private static String markdownRow(List<String> row) {
        return row.stream().map(cell -> cell.replace("|", "\\|")).collect(Collectors.joining(" | ", "| ", " |\n"));
    }

    String html() {
        StringBuilder text = new StringBuilder("<table>\n");
        text.append(htmlRow(header, "th"));
        rows.forEach(row -> text.append(htmlRow(row, "td")));
        return text.append("</table>\n").toString();
    }

    private static String htmlRow(List<String> row, String element) {
        return row.stream()
                .map(cell -> "<" + element + ">" + Markup.escape(cell) + "</" + element + ">")
                .collect(Collectors.joining("", "<tr>", "</tr>\n"));
    }

    private List<List<String>> all() {
        List<List<String>> all = new ArrayList<>();
        all.add(header);
        all.addAll(rows);
        return all;
    }
}

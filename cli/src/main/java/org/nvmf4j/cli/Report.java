package org.nvmf4j.cli;

import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.nvmf4j.bench.PrettyJson;
import tools.jackson.core.JsonGenerator;

/** Named values in order, printed one a line or as JSON. Values are texts, numbers, flags, lists and reports. */
final class Report {
    /** {@code -o}: how to print. */
    enum Format {
        NORMAL,
        JSON
    }

    /** A number that people read in hexadecimal. */
    private record Hex(long value) {}

    private final Map<String, Object> values = new LinkedHashMap<>();

    Report text(String name, String value) {
        values.put(name, value);
        return this;
    }

    Report number(String name, long value) {
        values.put(name, value);
        return this;
    }

    Report hex(String name, long value) {
        values.put(name, new Hex(value));
        return this;
    }

    Report flag(String name, boolean value) {
        values.put(name, value);
        return this;
    }

    Report list(String name, List<?> value) {
        values.put(name, value);
        return this;
    }

    /** Prints {@code name : value} lines, the colons under each other. */
    void print(PrintWriter out) {
        int width = values.keySet().stream().mapToInt(String::length).max().orElse(0);
        values.forEach((name, value) -> out.printf("%-" + width + "s : %s%n", name, normal(value)));
    }

    void printJson(PrintWriter out) {
        try (JsonGenerator json = PrettyJson.generator(out)) {
            write(this, json);
        }
        out.println();
    }

    private static String normal(Object value) {
        return value instanceof Hex(long number) ? "0x" + Long.toHexString(number) : value.toString();
    }

    private static void write(Object value, JsonGenerator json) {
        switch (value) {
            case Report report -> {
                json.writeStartObject();
                report.values.forEach((name, member) -> {
                    json.writeName(name);
                    write(member, json);
                });
                json.writeEndObject();
            }
            case List<?> list -> {
                json.writeStartArray();
                list.forEach(member -> write(member, json));
                json.writeEndArray();
            }
            case Hex hex -> json.writeNumber(hex.value());
            case Boolean flag -> json.writeBoolean(flag);
            case Number number -> json.writeNumber(number.longValue());
            default -> json.writeString(value.toString());
        }
    }
}

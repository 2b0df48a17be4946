package org.nvmf4j.cli;

import java.io.PrintWriter;
import java.util.List;

/** Rows whose columns lie under each other. */
final class TextTable {
    private TextTable() {}

    /**
     * Prints them.
     *
     * @param rows as long as each other; the first is the title
     */
    static void print(List<List<String>> rows, PrintWriter out) {
        for (List<String> row : rows) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < row.size(); i++) {
                int column = i;
                int width = rows.stream()
                        .mapToInt(other -> other.get(column).length())
                        .max()
                        .orElse(0);
                line.append(String.format("%-" + width + "s  ", row.get(i)));
            }
            out.println(line.toString().stripTrailing());
        }
    }
}

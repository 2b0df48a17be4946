package org.nvmf4j.cli;

import java.io.PrintWriter;
import java.util.List;

/** A line, and lines that hang on it, drawn with branches. */
record TextTree(String line, List<TextTree> children) {
    TextTree {
        children = List.copyOf(children);
    }

    static TextTree leaf(String line) {
        return new TextTree(line, List.of());
    }

    void print(PrintWriter out) {
        out.println(line);
        printChildren("", out);
    }

    private void printChildren(String indent, PrintWriter out) {
        for (int i = 0; i < children.size(); i++) {
            boolean last = i == children.size() - 1;
            TextTree child = children.get(i);
            out.println(indent + (last ? "└─ " : "├─ ") + child.line);
            child.printChildren(indent + (last ? "   " : "│  "), out);
        }
    }
}

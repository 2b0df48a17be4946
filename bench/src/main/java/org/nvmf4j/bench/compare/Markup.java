package org.nvmf4j.bench.compare;

/** What HTML and SVG share. */
final class Markup {
    private Markup() {}

    static String escape(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }
}

package org.nvmf4j.bench.compare;

import java.util.Locale;

/**
 * An SVG picture in the making. Written as text, since the plotting libraries for Java draw by AWT, which needs fonts that servers
 * and containers do not have.
 */
final class Svg {
    private final StringBuilder body = new StringBuilder();
    private final int width;
    private final int height;
    private final String title;

    Svg(int width, int height, String title) {
        this.width = width;
        this.height = height;
        this.title = title;
    }

    void line(String cssClass, double x1, double y1, double x2, double y2) {
        add("<line class=\"%s\" x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"/>", cssClass, n(x1), n(y1), n(x2), n(y2));
    }

    void band(String colour, double x, double y, double w, double h) {
        add(
                "<rect class=\"band\" fill=\"%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>",
                colour, n(x), n(y), n(w), n(h));
    }

    void stroke(String colour, double x1, double y1, double x2, double y2) {
        add(
                "<line class=\"stroke\" stroke=\"%s\" x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"/>",
                colour, n(x1), n(y1), n(x2), n(y2));
    }

    void dot(String colour, double x, double y, double radius) {
        add("<circle fill=\"%s\" cx=\"%s\" cy=\"%s\" r=\"%s\"/>", colour, n(x), n(y), n(radius));
    }

    /** A line through points: x and y in turns. */
    void curve(String colour, double[] points) {
        StringBuilder path = new StringBuilder();
        for (int i = 0; i < points.length; i += 2) {
            path.append(i == 0 ? "M" : "L").append(n(points[i])).append(' ').append(n(points[i + 1]));
        }
        add("<path class=\"curve\" stroke=\"%s\" d=\"%s\"/>", colour, path.toString());
    }

    /** @param anchor start, middle or end */
    void text(String cssClass, String anchor, double x, double y, String text) {
        add(
                "<text class=\"%s\" text-anchor=\"%s\" x=\"%s\" y=\"%s\">%s</text>",
                cssClass, anchor, n(x), n(y), Markup.escape(text));
    }

    private void add(String format, String... values) {
        body.append(String.format(Locale.ROOT, format, (Object[]) values)).append('\n');
    }

    private static String n(double value) {
        return String.format(Locale.ROOT, "%.1f", value);
    }

    @Override
    public String toString() {
        return "<svg viewBox=\"0 0 " + width + " " + height + "\" role=\"img\" aria-label=\"" + Markup.escape(title)
                + "\">\n" + body + "</svg>\n";
    }
}

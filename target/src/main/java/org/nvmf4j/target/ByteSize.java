package org.nvmf4j.target;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Sizes as fio and nvme-cli take them: {@code 4k}, {@code 512M}, {@code 1G}; every unit is a power of 1024. */
final class ByteSize {
    private static final Pattern SIZE = Pattern.compile("(\\d{1,18})([kmgtp]?)(i?b)?");
    private static final String UNITS = "kmgtp";
    private static final String NAMES = "KMGTP";

    private ByteSize() {}

    /** A size for people, in the largest unit that leaves a whole number: {@code 64 MiB}. */
    static String format(long bytes) {
        int unit = bytes == 0 ? 0 : Math.min(UNITS.length(), Long.numberOfTrailingZeros(bytes) / 10);
        return unit == 0 ? bytes + " bytes" : (bytes >> (10 * unit)) + " " + NAMES.charAt(unit - 1) + "iB";
    }

    /**
     * Reads a size.
     *
     * @throws IllegalArgumentException if it is none; the message says what one looks like
     */
    static long parse(String text) {
        Matcher matcher = SIZE.matcher(text.toLowerCase(Locale.ROOT));
        if (matcher.matches()) {
            long number = Long.parseLong(matcher.group(1));
            String unit = matcher.group(2);
            int shift = unit.isEmpty() ? 0 : 10 * (UNITS.indexOf(unit) + 1);
            if (number <= Long.MAX_VALUE >>> shift) {
                return number << shift;
            }
        }
        throw new IllegalArgumentException(
                "'" + text + "' is not a size; give bytes or a number with k, M, G, T or P, as in 512M");
    }
}

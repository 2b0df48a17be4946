package org.nvmf4j.cli;

import java.util.Locale;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Byte counts as fio takes them: {@code 4096}, {@code 4k}, {@code 64M}, {@code 1G}, all by 1024. */
final class Sizes implements ITypeConverter<Long> {
    private static final String SUFFIXES = "kmgt";

    @Override
    public Long convert(String text) {
        return parse(text);
    }

    static long parse(String text) {
        String t = text.strip().toLowerCase(Locale.ROOT).replaceFirst("(?<=[kmgt])i?b$", "");
        int power = t.isEmpty() ? -1 : SUFFIXES.indexOf(t.charAt(t.length() - 1));
        try {
            long number = Long.parseLong(power < 0 ? t : t.substring(0, t.length() - 1));
            if (number >= 0) {
                return Math.multiplyExact(number, 1L << (10 * (power + 1)));
            }
        } catch (NumberFormatException | ArithmeticException e) {
            throw new TypeConversionException(wrong(text));
        }
        throw new TypeConversionException(wrong(text));
    }

    /** A size in the largest unit that keeps it whole, as {@link #parse} takes it. */
    static String format(long bytes) {
        long value = bytes;
        int power = 0;
        while (value != 0 && value % 1024 == 0 && power < SUFFIXES.length()) {
            value /= 1024;
            power++;
        }
        return power == 0
                ? Long.toString(value)
                : value + SUFFIXES.substring(power - 1, power).toUpperCase(Locale.ROOT);
    }

    /** A size in a sentence, in the unit of {@link #format}: {@code 64 MiB}. */
    static String describe(long bytes) {
        String text = format(bytes);
        int unit = text.length() - 1;
        return Character.isDigit(text.charAt(unit))
                ? text + " bytes"
                : text.substring(0, unit) + " " + text.substring(unit) + "iB";
    }

    private static String wrong(String text) {
        String what = text.endsWith("%") ? "' is a share, not a size; write" : "' is no size; write";
        return "'" + text + what + " bytes, or a number with k, M, G or T";
    }
}

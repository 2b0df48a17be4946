package org.nvmf4j.cli;

import java.math.BigDecimal;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Times in milliseconds as fio takes them: {@code 10} or {@code 10s}, {@code 500ms}, {@code 2m}, {@code 1h}, {@code 1d}. */
final class Durations implements ITypeConverter<Long> {
    private static final Pattern FORM = Pattern.compile("(\\d{1,12}(?:\\.\\d{1,6})?)\\s*([a-z]*)");
    private static final Map<String, Long> UNITS = Map.ofEntries(
            Map.entry("", 1_000L),
            Map.entry("s", 1_000L),
            Map.entry("sec", 1_000L),
            Map.entry("ms", 1L),
            Map.entry("msec", 1L),
            Map.entry("m", TimeUnit.MINUTES.toMillis(1)),
            Map.entry("min", TimeUnit.MINUTES.toMillis(1)),
            Map.entry("h", TimeUnit.HOURS.toMillis(1)),
            Map.entry("d", TimeUnit.DAYS.toMillis(1)));
    private static final long MAX_MILLIS = TimeUnit.DAYS.toMillis(3650);

    @Override
    public Long convert(String text) {
        Matcher form = FORM.matcher(text.strip().toLowerCase(Locale.ROOT));
        Long unit = form.matches() ? UNITS.get(form.group(2)) : null;
        if (unit != null) {
            BigDecimal millis = new BigDecimal(form.group(1)).multiply(BigDecimal.valueOf(unit));
            if (millis.compareTo(BigDecimal.valueOf(MAX_MILLIS)) <= 0
                    && millis.stripTrailingZeros().scale() <= 0) {
                return millis.longValueExact();
            }
        }
        throw new TypeConversionException(
                "'" + text + "' is no time; write seconds, or a number with ms, s, m, h or d, as in 10, 500ms or 2m");
    }
}

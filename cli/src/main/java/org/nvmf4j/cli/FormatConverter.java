package org.nvmf4j.cli;

import java.util.Locale;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** {@code normal} or {@code json}. */
final class FormatConverter implements ITypeConverter<Report.Format> {
    @Override
    public Report.Format convert(String text) {
        return switch (text.toLowerCase(Locale.ROOT)) {
            case "normal" -> Report.Format.NORMAL;
            case "json" -> Report.Format.JSON;
            default -> throw new TypeConversionException("'" + text + "' is no output format; write normal or json");
        };
    }
}

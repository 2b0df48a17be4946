package org.nvmf4j.cli;

import org.nvmf4j.pcie.BarRange;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** A BAR or a part of it, as {@link BarRange#parse} takes it. */
final class BarRangeConverter implements ITypeConverter<BarRange> {
    @Override
    public BarRange convert(String text) {
        try {
            return BarRange.parse(text);
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException(e.getMessage());
        }
    }
}

package org.nvmf4j.cli;

import java.util.UUID;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** A UUID in its usual form. */
final class UuidConverter implements ITypeConverter<UUID> {
    @Override
    public UUID convert(String text) {
        try {
            UUID uuid = UUID.fromString(text);
            if (uuid.toString().equalsIgnoreCase(text)) {
                return uuid;
            }
        } catch (IllegalArgumentException e) {
            throw wrong(text);
        }
        throw wrong(text);
    }

    private static TypeConversionException wrong(String text) {
        return new TypeConversionException(
                "'" + text + "' is no UUID; write one as in 01234567-89ab-cdef-0123-456789abcdef");
    }
}

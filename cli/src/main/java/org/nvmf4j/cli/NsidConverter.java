package org.nvmf4j.cli;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** A namespace's ID, decimal or as {@code list-ns} prints it, hexadecimal. */
final class NsidConverter implements ITypeConverter<Integer> {
    private static final long MAX = 0xffff_fffeL;

    @Override
    public Integer convert(String text) {
        return parse(text);
    }

    static int parse(String text) {
        try {
            long nsid = text.startsWith("0x") ? Long.parseLong(text.substring(2), 16) : Long.parseLong(text);
            if (nsid >= 1 && nsid <= MAX) {
                return (int) nsid;
            }
        } catch (NumberFormatException e) {
            throw wrong(text);
        }
        throw wrong(text);
    }

    private static TypeConversionException wrong(String text) {
        return new TypeConversionException(
                "'" + text + "' is no namespace ID; write a number from 1, 'nvmf list-ns' prints which there are");
    }
}

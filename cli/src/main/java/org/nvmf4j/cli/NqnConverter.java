package org.nvmf4j.cli;

import org.nvmf4j.nvme.Nqn;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** A name of a subsystem or a host. */
final class NqnConverter implements ITypeConverter<String> {
    @Override
    public String convert(String text) {
        try {
            return Nqn.requireValid(text);
        } catch (IllegalArgumentException e) {
            // nvme-cli's -n is the namespace in some commands, the subsystem in others.
            String hint = text.matches("(0x)?[0-9a-fA-F]+") ? "; a namespace is named by -N/--namespace-id" : "";
            throw new TypeConversionException(e.getMessage() + hint);
        }
    }
}

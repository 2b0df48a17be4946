package org.nvmf4j.cli;

import org.nvmf4j.verbs.InlineUse;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** How the RDMA core posts what could go inline; only for commands that measure what that is worth. */
final class PostMixin {
    static final String OPTION = "--post";
    static final String INLINE = "inline";
    static final String REFERENCE = "reference";
    static final String ASKED_NOT_USED = "asked-not-used";

    @Option(
            names = OPTION,
            paramLabel = "HOW",
            defaultValue = INLINE,
            converter = Converter.class,
            description = {
                "How small messages such as command capsules are posted (default: ${DEFAULT-VALUE}): "
                        + "inline where the device grants it, by reference without asking, "
                        + "or asked-not-used, the control of a measurement."
            })
    InlineUse inlineUse = InlineUse.WHERE_IT_FITS;

    /** What an arm with such a name does, for a report. */
    static String describe(String name) {
        return switch (name) {
            case INLINE -> "the core asks for inline room, and what fits is posted inline";
            case REFERENCE -> "the core asks for no inline room: everything is posted by reference";
            case ASKED_NOT_USED -> "the control: the core asks for inline room, and posts by reference all the same";
            default ->
                throw new IllegalArgumentException(
                        "'" + name + "' is not one of " + INLINE + ", " + REFERENCE + " and " + ASKED_NOT_USED);
        };
    }

    static final class Converter implements ITypeConverter<InlineUse> {
        @Override
        public InlineUse convert(String text) {
            return switch (text) {
                case INLINE -> InlineUse.WHERE_IT_FITS;
                case REFERENCE -> InlineUse.NOT_ASKED;
                case ASKED_NOT_USED -> InlineUse.ASKED_NOT_USED;
                default ->
                    throw new TypeConversionException(
                            "'" + text + "' is not one of " + INLINE + ", " + REFERENCE + " and " + ASKED_NOT_USED);
            };
        }
    }
}

package org.nvmf4j.cli;

import org.nvmf4j.verbs.InlineUse;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** How the RDMA core posts what could go inline; only for commands that measure what that is worth. */
final class PostMixin {
    static final String OPTION = "--post";

    @Option(
            names = OPTION,
            paramLabel = "HOW",
            defaultValue = "inline",
            converter = Converter.class,
            description = {
                "How small messages such as command capsules are posted (default: ${DEFAULT-VALUE}): "
                        + "inline where the device grants it, by reference without asking, "
                        + "or asked-not-used, the control of a measurement."
            })
    InlineUse inlineUse = InlineUse.WHERE_IT_FITS;

    /** The ways, by the names that the option and the arms of a comparison have. */
    enum Way {
        REFERENCE(
                "reference",
                InlineUse.NOT_ASKED,
                "the core asks for no inline room: everything is posted by reference"),
        INLINE("inline", InlineUse.WHERE_IT_FITS, "the core asks for inline room, and what fits is posted inline"),
        ASKED_NOT_USED(
                "asked-not-used",
                InlineUse.ASKED_NOT_USED,
                "the control: the core asks for inline room, and posts by reference all the same");

        private final String label;
        private final InlineUse use;
        private final String description;

        Way(String label, InlineUse use, String description) {
            this.label = label;
            this.use = use;
            this.description = description;
        }

        /**
         * The way of that name.
         *
         * @throws IllegalArgumentException with one line that names those there are
         */
        static Way of(String label) {
            for (Way way : values()) {
                if (way.label.equals(label)) {
                    return way;
                }
            }
            throw new IllegalArgumentException("'" + label + "' is not one of inline, reference and asked-not-used");
        }

        String label() {
            return label;
        }

        /** What it does, for a report. */
        String description() {
            return description;
        }
    }

    static final class Converter implements ITypeConverter<InlineUse> {
        @Override
        public InlineUse convert(String text) {
            try {
                return Way.of(text).use;
            } catch (IllegalArgumentException e) {
                throw new TypeConversionException(e.getMessage());
            }
        }
    }
}

package org.nvmf4j.bench;

import java.io.OutputStream;
import java.io.Writer;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.PrettyPrinter;
import tools.jackson.core.StreamWriteFeature;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.core.util.DefaultPrettyPrinter;

/** Generators of JSON for people, indented, that leave what they write to open. */
public final class PrettyJson {
    private static final JsonFactory FACTORY =
            JsonFactory.builder().disable(StreamWriteFeature.AUTO_CLOSE_TARGET).build();

    private static final ObjectWriteContext INDENTED = new ObjectWriteContext.Base() {
        @Override
        public PrettyPrinter getPrettyPrinter() {
            return new DefaultPrettyPrinter();
        }
    };

    private PrettyJson() {}

    public static JsonGenerator generator(OutputStream out) {
        return FACTORY.createGenerator(INDENTED, out);
    }

    public static JsonGenerator generator(Writer out) {
        return FACTORY.createGenerator(INDENTED, out);
    }
}

package org.nvmf4j.cli;

import java.util.concurrent.ThreadLocalRandom;
import org.nvmf4j.verbs.FaultOptions;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** {@code loss=P,duplicate=P,reorder=P,corrupt=P,seed=N}, in any order; P is 0.01 or 1%. */
final class FaultsConverter implements ITypeConverter<FaultOptions> {
    @Override
    public FaultOptions convert(String text) {
        double loss = 0;
        double duplicate = 0;
        double reorder = 0;
        double corrupt = 0;
        long seed = ThreadLocalRandom.current().nextLong(1, 1L << 32);
        for (String part : text.split(",", -1)) {
            int equals = part.indexOf('=');
            String key = equals < 0 ? part : part.substring(0, equals);
            String value = equals < 0 ? "" : part.substring(equals + 1);
            switch (key) {
                case "loss" -> loss = probability(part, value);
                case "duplicate" -> duplicate = probability(part, value);
                case "reorder" -> reorder = probability(part, value);
                case "corrupt" -> corrupt = probability(part, value);
                case "seed" -> seed = number(part, value);
                default -> throw wrong(part);
            }
        }
        return new FaultOptions(loss, duplicate, reorder, corrupt, seed);
    }

    private static double probability(String part, String value) {
        try {
            boolean percent = value.endsWith("%");
            double p = percent
                    ? Double.parseDouble(value.substring(0, value.length() - 1)) / 100
                    : Double.parseDouble(value);
            if (!percent && p >= 1) {
                // Whoever writes loss=1 means one in a hundred.
                throw new TypeConversionException(
                        "'" + part + "' would be every packet; write 1% or 0.01 for one in a hundred");
            }
            if (p >= 0 && p <= 1) {
                return p;
            }
        } catch (NumberFormatException e) {
            throw wrong(part);
        }
        throw wrong(part);
    }

    private static long number(String part, String value) {
        try {
            return Long.parseLong(value);
        } catch (NumberFormatException e) {
            throw wrong(part);
        }
    }

    private static TypeConversionException wrong(String part) {
        return new TypeConversionException("'" + part
                + "' is no fault; write loss=P, duplicate=P, reorder=P, corrupt=P (P is 0.01 or 1%) or seed=N");
    }
}

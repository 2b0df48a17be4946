package org.nvmf4j.verbs;

/**
 * Faults that a software device adds to what it sends, each a probability per packet from 0 to 1.
 *
 * @param seed of the generator; equal seeds and equal traffic give equal faults
 */
public record FaultOptions(double loss, double duplicate, double reorder, double corrupt, long seed) {
    public FaultOptions {
        check("loss", loss);
        check("duplicate", duplicate);
        check("reorder", reorder);
        check("corrupt", corrupt);
    }

    private static void check(String name, double p) {
        if (!(p >= 0 && p <= 1)) {
            throw new IllegalArgumentException(name + " must be a probability from 0 to 1, not " + p);
        }
    }
}

package org.nvmf4j.cli;

/** Checks numbers of the command line by the names that their options have there. */
final class Ranges {
    private Ranges() {}

    static int require(String option, long value, int min, int max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(option + " must be " + min + " to " + max + ", not " + value);
        }
        return (int) value;
    }
}

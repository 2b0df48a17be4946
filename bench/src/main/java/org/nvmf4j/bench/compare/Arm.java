package org.nvmf4j.bench.compare;

import java.io.IOException;
import org.nvmf4j.bench.BenchResult;

/**
 * One of the things that are compared.
 *
 * @param name for tables and plots
 * @param description what it does, in a line
 * @param trial runs it once
 */
public record Arm(String name, String description, Trial trial) {
    /** A run of an arm. */
    @FunctionalInterface
    public interface Trial {
        /**
         * Runs.
         *
         * @param seed of this run; the arms of a pair get the same
         * @throws IOException with one line, if the run failed
         */
        BenchResult run(long seed) throws IOException;
    }
}

package org.nvmf4j.cli;

import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

/** {@code --verbose}, which every command inherits. */
final class Verbosity {
    static final String SHORT_OPTION = "-v";
    static final String OPTION = "--verbose";

    private Verbosity() {}

    /** Whether a word of a command line is this option. */
    static boolean isOption(String word) {
        return word.equals(SHORT_OPTION) || word.equals(OPTION);
    }

    static boolean of(CommandLine command) {
        OptionSpec option = command.getCommandSpec().findOption(OPTION);
        return option != null && option.getValue() instanceof Boolean on && on;
    }
}

package org.nvmf4j.cli;

import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

/** {@code --verbose}, which every command inherits. */
final class Verbosity {
    static final String SHORT_OPTION = "-v";
    static final String OPTION = "--verbose";

    private Verbosity() {}

    static boolean of(CommandLine command) {
        OptionSpec option = command.getCommandSpec().findOption(OPTION);
        return option != null && option.getValue() instanceof Boolean on && on;
    }
}

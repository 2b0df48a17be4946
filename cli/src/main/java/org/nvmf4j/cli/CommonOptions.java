package org.nvmf4j.cli;

import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;

/** What every command takes. */
final class CommonOptions {
    private static final String VERBOSE = "--verbose";

    @Option(
            names = {"-v", VERBOSE},
            description = "Say more, and show the stack trace of a failure.")
    boolean verbose;

    static boolean isVerbose(CommandLine command) {
        OptionSpec option = command.getCommandSpec().findOption(VERBOSE);
        return option != null && option.getValue() instanceof Boolean on && on;
    }
}

package org.nvmf4j.cli;

import picocli.CommandLine.Option;

/** {@code -o}, for commands that print what they found. */
final class OutputMixin {
    @Option(
            names = {"-o", "--output-format"},
            paramLabel = "FORMAT",
            defaultValue = "normal",
            converter = FormatConverter.class,
            description = "Output format: normal or json (default: ${DEFAULT-VALUE}).")
    Report.Format format = Report.Format.NORMAL;

    boolean json() {
        return format == Report.Format.JSON;
    }
}

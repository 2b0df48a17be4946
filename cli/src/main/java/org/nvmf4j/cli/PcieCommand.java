package org.nvmf4j.cli;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code nvmf pcie}. */
@Command(
        name = "pcie",
        description = "Show the NVMe drives of a machine, and how to give one to user space.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = PcieListCommand.class)
final class PcieCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        spec.commandLine().usage(spec.commandLine().getErr());
        return Failures.USAGE;
    }
}

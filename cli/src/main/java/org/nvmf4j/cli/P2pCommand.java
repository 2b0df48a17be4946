package org.nvmf4j.cli;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code nvmf p2p}. */
@Command(
        name = "p2p",
        description = "Show the peer memory of a machine, and which of it a namespace would use.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {P2pListCommand.class, P2pExplainCommand.class})
final class P2pCommand implements Callable<Integer> {
    /** What a machine without peer memory could have it from. */
    static final String REMEDY = "an NVMe drive with a controller memory buffer gives some under a kernel with"
            + " CONFIG_PCI_P2PDMA, and --allow-raw-bar offers a BAR";

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        spec.commandLine().usage(spec.commandLine().getErr());
        return Failures.USAGE;
    }
}

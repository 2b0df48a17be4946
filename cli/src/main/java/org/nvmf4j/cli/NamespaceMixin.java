package org.nvmf4j.cli;

import picocli.CommandLine.Option;

/** Which namespace; {@code -n}, which it has in some of nvme-cli's commands, is the subsystem's NQN here as in the others. */
final class NamespaceMixin {
    @Option(
            names = {"-N", "--namespace-id", "--nsid"},
            paramLabel = "NSID",
            defaultValue = "1",
            converter = NsidConverter.class,
            description = "The namespace (default: ${DEFAULT-VALUE}).")
    int nsid = 1;
}

package org.nvmf4j.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.nvmf4j.pcie.PciTopology;
import picocli.CommandLine.Option;

/** Where PCI devices are looked for. */
class SysfsMixin {
    @Option(
            names = "--sysfs",
            paramLabel = "DIR",
            defaultValue = "/sys",
            description = "The sysfs tree to read, perhaps a copy of another machine's (default: ${DEFAULT-VALUE}).")
    Path sysfs = PciTopology.SYSFS;

    /** Refuses what is no such tree. */
    void check() throws IOException {
        if (!Files.isDirectory(sysfs.resolve("bus"))) {
            Path below = sysfs.resolve("sys");
            throw new IOException("--sysfs " + sysfs + " is no sysfs tree: it has no folder bus; "
                    + (Files.isDirectory(below.resolve("bus"))
                            ? "use " + below
                            : "name the folder that is a machine's /sys, or a copy of it"));
        }
    }

    /** Whether what this system says of addresses and files is true of the tree. */
    boolean isThisMachine() {
        return sysfs.toAbsolutePath().normalize().equals(PciTopology.SYSFS);
    }
}

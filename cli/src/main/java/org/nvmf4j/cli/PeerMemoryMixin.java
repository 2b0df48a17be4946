package org.nvmf4j.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.nvmf4j.pcie.BarRange;
import org.nvmf4j.pcie.DeviceFinder;
import org.nvmf4j.pcie.PciTopology;
import org.nvmf4j.pcie.SysfsPeerMemoryProvider;
import picocli.CommandLine.Option;

/** Where peer memory is looked for, and what the user offers besides. */
final class PeerMemoryMixin {
    @Option(
            names = "--sysfs",
            paramLabel = "DIR",
            defaultValue = "/sys",
            description = "The sysfs tree to read, perhaps a copy of another machine's (default: ${DEFAULT-VALUE}).")
    Path sysfs = PciTopology.SYSFS;

    @Option(
            names = "--allow-raw-bar",
            paramLabel = "BDF/resourceN[@OFFSET[+LENGTH]]",
            converter = BarRangeConverter.class,
            description =
                    "Offer a BAR, or a part of it, as peer memory; may be repeated. Whatever else uses it is overwritten"
                            + " when a target takes it.")
    List<BarRange> rawBars = List.of();

    /** The peer memories of the tree. */
    SysfsPeerMemoryProvider provider() throws IOException {
        if (!Files.isDirectory(sysfs.resolve("bus"))) {
            Path below = sysfs.resolve("sys");
            throw new IOException("--sysfs " + sysfs + " is no sysfs tree: it has no folder bus; "
                    + (Files.isDirectory(below.resolve("bus"))
                            ? "use " + below
                            : "name the folder that is a machine's /sys, or a copy of it"));
        }
        return new SysfsPeerMemoryProvider(sysfs, rawBars);
    }

    DeviceFinder finder() {
        return new DeviceFinder(sysfs);
    }

    /** Whether what this system says of addresses and files is true of the tree. */
    boolean isThisMachine() {
        return sysfs.toAbsolutePath().normalize().equals(PciTopology.SYSFS);
    }
}

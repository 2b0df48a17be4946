package org.nvmf4j.cli;

import java.io.IOException;
import java.util.List;
import org.nvmf4j.pcie.BarRange;
import org.nvmf4j.pcie.DeviceFinder;
import org.nvmf4j.pcie.SysfsPeerMemoryProvider;
import picocli.CommandLine.Option;

/** Where peer memory is looked for, and what the user offers besides. */
final class PeerMemoryMixin extends SysfsMixin {
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
        check();
        return new SysfsPeerMemoryProvider(sysfs, rawBars);
    }

    DeviceFinder finder() {
        return new DeviceFinder(sysfs);
    }
}

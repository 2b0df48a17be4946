package org.nvmf4j.cli;

import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceDescription;
import org.nvmf4j.verbs.ProviderDescription;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code nvmf devices}. */
@Command(
        name = "devices",
        description = "List the RDMA devices of this machine, or say what is missing.",
        footer = {
            "",
            "Providers come in the order in which --provider auto asks them for the address.",
            "What an ibverbs device does about inline data is found by trying. A loopback",
            "device is made when it is named, and reaches its own process only."
        })
final class DevicesCommand implements Callable<Integer> {
    @Mixin
    private OutputMixin output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        List<ProviderDescription> providers = Device.describeProviders();
        PrintWriter out = spec.commandLine().getOut();
        if (output.json()) {
            new Report()
                    .list(
                            "providers",
                            providers.stream().map(DevicesCommand::report).toList())
                    .printJson(out);
        } else {
            providers.forEach(provider -> tree(provider).print(out));
        }
        out.flush();
        return 0;
    }

    private static Report report(ProviderDescription provider) {
        return new Report()
                .text("provider", provider.name())
                .text("unavailable_because", provider.unavailableBecause())
                .list(
                        "devices",
                        provider.devices().stream().map(DevicesCommand::report).toList());
    }

    private static Report report(DeviceDescription device) {
        Report report = new Report().text("name", device.name());
        device.facts()
                .forEach((what, fact) ->
                        report.text(what.toLowerCase(Locale.ROOT).replace(' ', '_'), fact));
        return report;
    }

    private static TextTree tree(ProviderDescription provider) {
        String problem = provider.unavailableBecause();
        return new TextTree(
                provider.name() + (problem.isEmpty() ? "" : ": " + problem),
                provider.devices().stream().map(DevicesCommand::tree).toList());
    }

    private static TextTree tree(DeviceDescription device) {
        return new TextTree(
                device.name(),
                device.facts().entrySet().stream()
                        .map(fact -> TextTree.leaf(fact.getKey() + ": " + fact.getValue()))
                        .toList());
    }
}

package org.nvmf4j.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.nvmf4j.nvme.ControllerMemoryBuffer;
import org.nvmf4j.pcie.NvmeFunction;
import org.nvmf4j.pcie.NvmeFunction.GroupMate;
import org.nvmf4j.pcie.NvmeFunctions;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code nvmf pcie list}. */
@Command(
        name = "list",
        description =
                "List the NVMe functions of a machine, who has them, and the commands that would bind them to vfio-pci.",
        footer = {
            "",
            "Nothing is changed: binding a drive to vfio-pci, which takes its block devices from",
            "the kernel, is up to you. CMB is the controller memory buffer; older kernels do not",
            "tell of one (?), and nobody but its driver can."
        })
final class PcieListCommand implements Callable<Integer> {
    private static final String UNKNOWN = "?";

    @Mixin
    private SysfsMixin machine;

    @Mixin
    private OutputMixin output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        machine.check();
        List<NvmeFunction> functions = new NvmeFunctions(machine.sysfs).list();
        PrintWriter out = spec.commandLine().getOut();
        if (output.json()) {
            new Report()
                    .list(
                            "functions",
                            functions.stream().map(PcieListCommand::report).toList())
                    .printJson(out);
        } else if (functions.isEmpty()) {
            out.println("this machine has no NVMe functions");
        } else {
            print(functions, out);
        }
        out.flush();
        return 0;
    }

    private static Report report(NvmeFunction function) {
        Report report = new Report()
                .text("pci_address", function.address().toString())
                .text("driver", function.driver())
                .number("iommu_group", function.iommuGroup())
                .list(
                        "group_mates",
                        function.groupMates().stream()
                                .map(mate -> new Report()
                                        .text("pci_address", mate.address().toString())
                                        .text("driver", mate.driver())
                                        .flag("in_the_way", mate.standsInTheWay()))
                                .toList())
                .list(
                        "namespaces",
                        function.namespaces().stream()
                                .map(namespace -> new Report()
                                        .text("name", namespace.name())
                                        .list("uses", namespace.uses()))
                                .toList());
        ControllerMemoryBuffer buffer = function.memoryBuffer();
        if (buffer != null) {
            report.number("cmb_bytes", buffer.sizeBytes())
                    .number("cmb_bar", buffer.bar())
                    .flag("cmb_takes_data", buffer.takesData());
        }
        return report.text("refusal", function.refusal()).list("bind_commands", function.bindCommands());
    }

    private static void print(List<NvmeFunction> functions, PrintWriter out) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("Address", "Driver", "Group", "CMB", "Namespaces"));
        functions.forEach(function -> rows.add(row(function)));
        TextTable.print(rows, out);
        functions.forEach(function -> notes(function).forEach(out::println));
        for (NvmeFunction function : functions) {
            List<String> commands = function.bindCommands();
            if (!commands.isEmpty()) {
                out.println();
                out.println("to give " + function.address() + " to user space"
                        + (function.namespaces().isEmpty() ? "" : ", which takes " + names(function) + " away") + ":");
                commands.forEach(command -> out.println("  " + command));
            }
        }
    }

    private static List<String> row(NvmeFunction function) {
        return List.of(
                function.address().toString(),
                function.driver().isEmpty() ? "none" : function.driver(),
                function.iommuGroup() < 0 ? "none" : Integer.toString(function.iommuGroup()),
                memoryBuffer(function),
                names(function));
    }

    private static String memoryBuffer(NvmeFunction function) {
        ControllerMemoryBuffer buffer = function.memoryBuffer();
        return buffer == null
                ? UNKNOWN
                : Sizes.describe(buffer.sizeBytes()) + (buffer.takesData() ? "" : ", not for data");
    }

    private static String names(NvmeFunction function) {
        return function.namespaces().stream().map(NvmeFunction.Namespace::name).collect(Collectors.joining(", "));
    }

    private static List<String> notes(NvmeFunction function) {
        List<String> notes = new ArrayList<>();
        if (function.isOurs()) {
            if (!function.refusal().isEmpty()) {
                notes.add(function.refusal());
            }
        } else if (function.bindCommands().isEmpty()) {
            notes.add(function.refusal());
        }
        if (!function.groupMates().isEmpty()) {
            String all = function.groupMates().stream().map(GroupMate::toString).collect(Collectors.joining(", "));
            String wrong = function.groupMates().stream()
                    .filter(GroupMate::standsInTheWay)
                    .map(mate -> mate.address().toString())
                    .collect(Collectors.joining(", "));
            notes.add(function.address() + " shares IOMMU group " + function.iommuGroup() + " with " + all
                    + (wrong.isEmpty() ? "" : "; unbind or bind to vfio-pci too: " + wrong));
        }
        return notes;
    }
}

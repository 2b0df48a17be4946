package org.nvmf4j.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import org.nvmf4j.pcie.PciAddress;
import org.nvmf4j.pcie.SysfsPeerMemoryProvider;
import org.nvmf4j.target.PeerMemoryChoice;
import org.nvmf4j.target.PeerMemorySelection;
import org.nvmf4j.target.PeerMemorySelection.Candidate;
import org.nvmf4j.target.spi.PeerClient;
import org.nvmf4j.target.spi.PeerMemory;
import org.nvmf4j.target.spi.Reach;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code nvmf p2p list}. */
@Command(
        name = "list",
        description = "List the peer memory of a machine, and how far it is from each RDMA device.",
        footer = {
            "",
            "Usable is yes where an RDMA device reaches the memory by itself, at the distance",
            "that Linux counts: 0 the same device, 4 under one switch, more for each bridge."
        })
final class P2pListCommand implements Callable<Integer> {
    @Mixin
    private PeerMemoryMixin machine;

    @Mixin
    private OutputMixin output;

    @Spec
    private CommandSpec spec;

    /** Whom a memory is good for. */
    private enum Usable {
        YES("yes"),
        CPU_ONLY("CPU only"),
        NO("no");

        private final String label;

        Usable(String label) {
            this.label = label;
        }

        static Usable of(Candidate candidate) {
            if (!candidate.ownProblem().isEmpty()) {
                return NO;
            }
            return candidate.reaches().stream().anyMatch(reach -> reach.kind() == Reach.Kind.PEER_TO_PEER)
                    ? YES
                    : CPU_ONLY;
        }
    }

    @Override
    public Integer call() throws IOException {
        SysfsPeerMemoryProvider provider = machine.provider();
        List<PeerClient.RdmaDevice> devices = machine.finder().rdmaDevices().stream()
                .map(PeerClient.RdmaDevice::new)
                .toList();
        List<Candidate> memories =
                PeerMemorySelection.select(PeerMemoryChoice.AUTO, provider, List.copyOf(devices)).candidates().stream()
                        .sorted(Comparator.comparing(
                                c -> PciAddress.parse(c.memory().pciAddress())))
                        .toList();
        PrintWriter out = spec.commandLine().getOut();
        if (output.json()) {
            printJson(memories, devices, provider, out);
        } else if (memories.isEmpty()) {
            out.println("this machine has no peer memory");
            out.println(P2pCommand.REMEDY);
        } else {
            print(memories, devices, out);
        }
        out.flush();
        return 0;
    }

    private static void printJson(
            List<Candidate> memories,
            List<PeerClient.RdmaDevice> devices,
            SysfsPeerMemoryProvider provider,
            PrintWriter out) {
        new Report()
                .list(
                        "rdma_devices",
                        devices.stream()
                                .map(device -> PeerMemoryReport.of(device.name(), provider.find(device)))
                                .toList())
                .list(
                        "memories",
                        memories.stream()
                                .map(memory ->
                                        PeerMemoryReport.of(memory, devices).text("usable", Usable.of(memory).label))
                                .toList())
                .printJson(out);
    }

    private static void print(List<Candidate> memories, List<PeerClient.RdmaDevice> devices, PrintWriter out) {
        List<List<String>> rows = new ArrayList<>();
        List<String> title = new ArrayList<>(List.of("Address", "Size", "Free", "Published"));
        devices.forEach(device -> title.add(device.name()));
        title.addAll(List.of("Usable", "Publisher"));
        rows.add(title);
        memories.forEach(memory -> rows.add(row(memory)));
        TextTable.print(rows, out);
        notes(memories, devices).forEach(out::println);
    }

    private static List<String> row(Candidate candidate) {
        PeerMemory memory = candidate.memory();
        List<String> row = new ArrayList<>(List.of(
                memory.pciAddress(),
                Sizes.describe(memory.sizeBytes()),
                Sizes.describe(memory.freeBytes()),
                memory.isPublished() ? "yes" : "no"));
        candidate
                .reaches()
                .forEach(reach -> row.add(
                        switch (reach.kind()) {
                            case PEER_TO_PEER -> Integer.toString(reach.distance());
                            case WITH_THE_CPU -> "CPU";
                            case NOT -> "no";
                        }));
        row.addAll(List.of(Usable.of(candidate).label, memory.publisher()));
        return row;
    }

    /** The reasons, each once. */
    private static Set<String> notes(List<Candidate> memories, List<PeerClient.RdmaDevice> devices) {
        Set<String> notes = new LinkedHashSet<>();
        for (Candidate candidate : memories) {
            String address = candidate.memory().pciAddress();
            if (!candidate.ownProblem().isEmpty()) {
                notes.add(address + ": " + candidate.ownProblem());
            }
            for (int i = 0; i < devices.size(); i++) {
                Reach reach = candidate.reaches().get(i);
                switch (reach.kind()) {
                    case PEER_TO_PEER -> {}
                    case WITH_THE_CPU -> notes.add(reach.reason());
                    case NOT -> notes.add(address + " and " + devices.get(i).name() + ": " + reach.reason());
                }
            }
        }
        if (memories.stream().anyMatch(memory -> Usable.of(memory) == Usable.CPU_ONLY)) {
            notes.add("CPU only: no RDMA device here reaches it by itself; p2pmem=1 leaves it,"
                    + " p2pmem=BDF takes it, and with software RDMA the CPU copies");
        }
        return notes;
    }
}

package org.nvmf4j.cli;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.pcie.FoundDevice;
import org.nvmf4j.pcie.FoundDevice.NotOnPci;
import org.nvmf4j.pcie.SysfsPeerMemoryProvider;
import org.nvmf4j.target.PeerMemoryChoice;
import org.nvmf4j.target.PeerMemorySelection;
import org.nvmf4j.target.PeerMemorySelection.Candidate;
import org.nvmf4j.target.spi.PeerClient;
import org.nvmf4j.target.spi.PeerMemory;
import org.nvmf4j.target.spi.Reach;

/**
 * Which peer memory a namespace would get, for people and as JSON.
 *
 * @param namespace in words
 * @param clients the RDMA device, and what is behind the namespace
 * @param functions behind the clients, in their order
 * @param selection of the choice, or of the nearest memory if the choice is refused
 * @param refusal why the user's choice is refused, in one line; empty if it is not
 */
record Explanation(
        String namespace,
        PeerMemoryChoice choice,
        List<PeerClient> clients,
        List<FoundDevice> functions,
        PeerMemorySelection selection,
        String refusal) {

    static Explanation of(
            String namespace, PeerMemoryChoice choice, SysfsPeerMemoryProvider provider, List<PeerClient> clients) {
        List<FoundDevice> functions = clients.stream().map(provider::find).toList();
        PeerMemorySelection selection;
        String refusal = "";
        try {
            selection = PeerMemorySelection.select(choice, provider, clients);
        } catch (IllegalArgumentException e) {
            selection = PeerMemorySelection.select(PeerMemoryChoice.AUTO, provider, clients);
            refusal = String.valueOf(e.getMessage());
        }
        return new Explanation(namespace, choice, clients, functions, selection, refusal);
    }

    private @Nullable PeerMemory taken() {
        return refusal.isEmpty() ? selection.memory() : null;
    }

    private boolean isChosen(Candidate candidate) {
        return candidate.memory().pciAddress().equals(choice.pciAddress());
    }

    Report report() {
        PeerMemory taken = taken();
        Report report = new Report()
                .text("namespace", namespace)
                .text("p2pmem", choice.toString())
                .list("clients", clientReports())
                .text("takes", taken != null ? "peer_memory" : refusal.isEmpty() ? "system_memory" : "nothing");
        if (taken != null) {
            report.text("pci_address", taken.pciAddress());
        }
        return report.text("why", refusal.isEmpty() ? selection.why() : refusal)
                .text("warning", refusal.isEmpty() ? selection.warning() : "")
                .list(
                        "candidates",
                        selection.candidates().stream().map(this::report).toList());
    }

    private List<Report> clientReports() {
        List<Report> reports = new ArrayList<>();
        for (int i = 0; i < clients.size(); i++) {
            reports.add(PeerMemoryReport.of(clients.get(i).description(), functions.get(i)));
        }
        return reports;
    }

    private Report report(Candidate candidate) {
        return PeerMemoryReport.of(candidate, clients)
                .number("distance", candidate.distance())
                .flag("usable", candidate.problem().isEmpty())
                .text("problem", candidate.problem());
    }

    TextTree tree() {
        List<TextTree> children = new ArrayList<>();
        List<Candidate> candidates = selection.candidates().stream()
                .sorted(Comparator.comparing(candidate -> !isChosen(candidate)))
                .toList();
        if (!refusal.isEmpty() && candidates.stream().noneMatch(this::isChosen)) {
            children.add(TextTree.leaf("refused " + choice.pciAddress() + ": it has no peer memory"));
        } else if (refusal.isEmpty() && taken() == null) {
            children.add(systemMemory());
        }
        candidates.forEach(candidate -> children.add(tree(candidate)));
        if (candidates.isEmpty() && choice.kind() != PeerMemoryChoice.Kind.OFF) {
            addWhomTheCpuServes(children);
        }
        return new TextTree(
                "namespace " + namespace + " on " + clients.getFirst().description(), children);
    }

    private TextTree systemMemory() {
        boolean off = choice.kind() == PeerMemoryChoice.Kind.OFF;
        return selection.candidates().isEmpty()
                ? new TextTree(
                        "takes system memory: " + selection.why(),
                        off ? List.of() : List.of(TextTree.leaf(P2pCommand.REMEDY)))
                : TextTree.leaf("takes system memory: no peer memory that all can use");
    }

    private void addWhomTheCpuServes(List<TextTree> children) {
        for (int i = 0; i < clients.size(); i++) {
            if (functions.get(i) instanceof NotOnPci none) {
                children.add(TextTree.leaf(describe(clients.get(i), none.reason())));
            }
        }
    }

    private TextTree tree(Candidate candidate) {
        List<TextTree> children = new ArrayList<>();
        for (int i = 0; i < clients.size(); i++) {
            children.add(
                    TextTree.leaf(describe(clients.get(i), candidate.reaches().get(i))));
        }
        boolean taken = candidate.memory() == taken();
        if (taken && !selection.warning().isEmpty()) {
            children.add(TextTree.leaf("warning: " + selection.warning()));
        }
        String address = candidate.memory().pciAddress();
        return new TextTree(verdict(candidate, taken) + " " + address + ": " + describe(candidate), children);
    }

    private String verdict(Candidate candidate, boolean taken) {
        if (taken) {
            return "takes";
        }
        if (choice.kind() == PeerMemoryChoice.Kind.DEVICE) {
            return isChosen(candidate) && !refusal.isEmpty() ? "refused" : "not chosen";
        }
        return candidate.problem().isEmpty() ? "also usable" : "refused";
    }

    private String describe(Candidate candidate) {
        if (!candidate.ownProblem().isEmpty()) {
            return candidate.ownProblem();
        }
        String free = Sizes.describe(candidate.memory().freeBytes()) + " free";
        if (candidate.problem().isEmpty()) {
            return free + ", at distance " + candidate.distance();
        }
        String outside = those(candidate, Reach.Kind.NOT);
        String copied = those(candidate, Reach.Kind.WITH_THE_CPU);
        return free
                + (outside.isEmpty() ? "" : ", out of reach of " + outside)
                + (copied.isEmpty() ? "" : ", with the CPU for " + copied);
    }

    private String those(Candidate candidate, Reach.Kind kind) {
        return clients.stream()
                .filter(client ->
                        candidate.reaches().get(clients.indexOf(client)).kind() == kind)
                .map(PeerClient::description)
                .collect(Collectors.joining(" and "));
    }

    private static String describe(PeerClient client, Reach reach) {
        if (reach.kind() == Reach.Kind.PEER_TO_PEER) {
            return client.description() + ": distance " + reach.distance();
        }
        return describe(client, reach.reason());
    }

    private static String describe(PeerClient client, String reason) {
        return reason.startsWith(client.description()) ? reason : client.description() + ": " + reason;
    }
}

package org.nvmf4j.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.nvmf4j.pcie.FoundDevice;
import org.nvmf4j.pcie.FoundDevice.NotOnPci;
import org.nvmf4j.pcie.FoundDevice.OnPci;
import org.nvmf4j.target.PeerMemorySelection.Candidate;
import org.nvmf4j.target.spi.PeerClient;
import org.nvmf4j.target.spi.PeerMemory;
import org.nvmf4j.target.spi.Reach;

/** Peer memories and who uses them, as both {@code p2p} commands write them in JSON. */
final class PeerMemoryReport {
    private PeerMemoryReport() {}

    static Report of(Candidate candidate, List<? extends PeerClient> clients) {
        PeerMemory memory = candidate.memory();
        return new Report()
                .text("pci_address", memory.pciAddress())
                .number("size_bytes", memory.sizeBytes())
                .number("free_bytes", memory.freeBytes())
                .flag("published", memory.isPublished())
                .text("publisher", memory.publisher())
                .text("own_problem", candidate.ownProblem())
                .list("reaches", reaches(candidate, clients));
    }

    static Report of(String name, FoundDevice found) {
        Report report = new Report().text("name", name);
        return switch (found) {
            case OnPci on -> report.text("pci_address", on.address().toString());
            case NotOnPci none -> report.text("reason", none.reason());
        };
    }

    private static List<Report> reaches(Candidate candidate, List<? extends PeerClient> clients) {
        List<Report> reports = new ArrayList<>();
        for (int i = 0; i < clients.size(); i++) {
            Reach reach = candidate.reaches().get(i);
            Report report = new Report()
                    .text("client", clients.get(i).description())
                    .text("reach", reach.kind().name().toLowerCase(Locale.ROOT));
            reports.add(
                    reach.kind() == Reach.Kind.PEER_TO_PEER
                            ? report.number("distance", reach.distance())
                            : report.text("reason", reach.reason()));
        }
        return reports;
    }
}

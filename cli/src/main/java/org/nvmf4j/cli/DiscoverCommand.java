package org.nvmf4j.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.host.Host;
import org.nvmf4j.host.HostException;
import org.nvmf4j.host.HostOptions;
import org.nvmf4j.nvme.DiscoveryLogEntry;
import org.nvmf4j.nvme.DiscoveryLogPage;
import org.nvmf4j.nvme.Nqn;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.NvmeStatusException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code nvmf discover}. */
@Command(name = "discover", description = "Ask a discovery subsystem for the subsystems it knows.")
final class DiscoverCommand implements Callable<Integer> {
    @Mixin
    private FabricMixin fabric;

    @Option(
            names = {"-n", "--nqn"},
            paramLabel = "NQN",
            defaultValue = Nqn.DISCOVERY,
            converter = NqnConverter.class,
            description = "NQN of the discovery subsystem (default: the well-known one).")
    private String nqn = Nqn.DISCOVERY;

    @Mixin
    private OutputMixin output;

    @Spec
    private CommandSpec spec;

    @Override
    public @Nullable Integer call() throws IOException {
        InetSocketAddress target = fabric.target();
        HostOptions options = fabric.host.options().build();
        return Interrupt.guard(interrupt -> {
            DiscoveryLogPage log;
            try (Host host = Host.open(target.getAddress(), options)) {
                interrupt.stopBy(host::close);
                log = Session.patiently(target, spec, () -> host.discover(target, nqn));
            } catch (NvmeStatusException e) {
                throw explained(e);
            }
            print(log);
        });
    }

    /** Other subsystems have no discovery log page: ours and the standard say Invalid Log Page, Linux's Invalid Field. */
    private IOException explained(NvmeStatusException e) {
        int code = NvmeStatus.code(e.status());
        boolean hasNoLog = code == NvmeStatus.INVALID_LOG_PAGE || code == NvmeStatus.INVALID_FIELD;
        return hasNoLog && !nqn.equals(Nqn.DISCOVERY)
                ? new HostException(
                        Failures.explain(e) + ": " + nqn + " is not a discovery subsystem; leave -n/--nqn out", e)
                : e;
    }

    private void print(DiscoveryLogPage log) {
        PrintWriter out = spec.commandLine().getOut();
        List<Report> records =
                log.entries().stream().map(DiscoverCommand::report).toList();
        if (output.json()) {
            new Report().number("genctr", log.genctr()).list("records", records).printJson(out);
        } else {
            out.printf(
                    "Discovery Log Number of Records %d, Generation counter %s%n",
                    records.size(), Long.toUnsignedString(log.genctr()));
            for (int i = 0; i < records.size(); i++) {
                out.printf("=====Discovery Log Entry %d======%n", i);
                records.get(i).print(out);
            }
        }
        out.flush();
    }

    private static Report report(DiscoveryLogEntry entry) {
        Report report = new Report()
                .text("trtype", DiscoveryLogEntry.trtypeName(entry.trtype()))
                .text("adrfam", DiscoveryLogEntry.adrfamName(entry.adrfam()))
                .text("subtype", DiscoveryLogEntry.subtypeName(entry.subtype()))
                .text("treq", DiscoveryLogEntry.treqName(entry.treq()))
                .number("portid", entry.portid())
                .text("trsvcid", entry.trsvcid())
                .text("subnqn", entry.subnqn())
                .text("traddr", entry.traddr());
        if (entry.trtype() == DiscoveryLogEntry.TRTYPE_RDMA) {
            DiscoveryLogEntry.RdmaTsas rdma = entry.rdma();
            report.text("rdma_prtype", DiscoveryLogEntry.RdmaTsas.prtypeName(rdma.prtype()))
                    .text("rdma_qptype", DiscoveryLogEntry.RdmaTsas.qptypeName(rdma.qptype()))
                    .text("rdma_cms", DiscoveryLogEntry.RdmaTsas.cmsName(rdma.cms()))
                    .text("rdma_pkey", String.format("0x%04x", rdma.pkey()));
        }
        return report;
    }
}

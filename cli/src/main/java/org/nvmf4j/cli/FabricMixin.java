package org.nvmf4j.cli;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import org.nvmf4j.host.Host;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Where the target is, by nvme-cli's names, and the options of the host that connects to it. */
final class FabricMixin {
    @Option(
            names = {"-t", "--transport"},
            paramLabel = "TYPE",
            defaultValue = "rdma",
            description = "Transport type; rdma is the only one.")
    String transport = "rdma";

    @Option(
            names = {"-a", "--traddr"},
            paramLabel = "ADDR",
            required = true,
            description = "Address of the target: IPv4, IPv6 or a name.")
    String traddr = "";

    @Option(
            names = {"-s", "--trsvcid"},
            paramLabel = "SVC",
            defaultValue = "4420",
            description = "Port of the target (default: ${DEFAULT-VALUE}).")
    int trsvcid = Addresses.DEFAULT_PORT;

    @Mixin
    HostMixin host;

    InetSocketAddress target() throws UnknownHostException {
        if (!transport.equals("rdma")) {
            throw new IllegalArgumentException("--transport must be rdma, not " + transport);
        }
        return new InetSocketAddress(
                Addresses.lookUp(traddr), Ranges.require("--trsvcid", trsvcid, 1, Addresses.MAX_PORT));
    }

    Host openHost() throws IOException {
        return Host.open(target().getAddress(), host.options().build());
    }
}

package org.nvmf4j.cli;

import java.net.InetSocketAddress;
import java.net.UnknownHostException;
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

    /** nvme-cli has the port in an option of its own. */
    private static String withoutPort(String address) {
        int port = Addresses.portIndex(address);
        if (port >= 0) {
            throw new IllegalArgumentException("--traddr takes no port: write -a " + address.substring(0, port - 1)
                    + " -s " + address.substring(port));
        }
        return address;
    }

    InetSocketAddress target() throws UnknownHostException {
        if (!transport.equals("rdma")) {
            throw new IllegalArgumentException(
                    "--transport must be rdma, not " + transport + ": there is no other here; leave it out");
        }
        return new InetSocketAddress(
                Addresses.lookUp(withoutPort(traddr)), Ranges.require("--trsvcid", trsvcid, 1, Addresses.MAX_PORT));
    }
}

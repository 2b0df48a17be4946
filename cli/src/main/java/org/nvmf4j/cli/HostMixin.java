package org.nvmf4j.cli;

import java.net.UnknownHostException;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.host.HostIdentities;
import org.nvmf4j.host.HostOptions;
import org.nvmf4j.nvme.HostIdentity;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.InlineUse;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options of a host, by nvme-cli's names. */
final class HostMixin {
    /** A day. */
    private static final int MAX_KEEP_ALIVE_SECONDS = 86_400;

    @Mixin
    DeviceMixin device;

    @Option(
            names = {"-w", "--host-traddr"},
            paramLabel = "ADDR",
            description = "Own address to use (default: the route's; towards 127/8 a free 127.x.y.z).")
    @Nullable
    String hostTraddr;

    @Option(
            names = {"-q", "--hostnqn"},
            paramLabel = "NQN",
            converter = NqnConverter.class,
            description = "Own NQN (default: that of /etc/nvme/hostnqn, or made up).")
    @Nullable
    String hostNqn;

    @Option(
            names = {"-I", "--hostid"},
            paramLabel = "UUID",
            converter = UuidConverter.class,
            description = "Own host ID (default: that of /etc/nvme/hostid, or derived from the NQN).")
    @Nullable
    UUID hostId;

    @Option(
            names = {"-k", "--keep-alive-tmo"},
            paramLabel = "SECONDS",
            defaultValue = "5",
            description = "Keep alive timeout, 0 for none (default: ${DEFAULT-VALUE}).")
    int keepAliveSeconds = 5;

    HostOptions.Builder options() throws UnknownHostException {
        return options(InlineUse.WHERE_IT_FITS);
    }

    HostOptions.Builder options(InlineUse inlineUse) throws UnknownHostException {
        device.check();
        HostOptions.Builder builder = HostOptions.builder()
                .provider(device.provider)
                .device(device.applyTo(DeviceOptions.defaults()
                        .withLocalAddress(hostTraddr == null ? null : Addresses.lookUp(hostTraddr))
                        .withInlineUse(inlineUse)))
                .keepAliveMillis(
                        1000 * Ranges.require("--keep-alive-tmo", keepAliveSeconds, 0, MAX_KEEP_ALIVE_SECONDS));
        if (hostNqn != null && hostId != null) {
            builder.identity(new HostIdentity(hostNqn, hostId));
        } else if (hostNqn != null) {
            builder.identity(HostIdentities.of(hostNqn));
        } else if (hostId != null) {
            builder.identity(HostIdentity.of(hostId));
        }
        return builder;
    }
}

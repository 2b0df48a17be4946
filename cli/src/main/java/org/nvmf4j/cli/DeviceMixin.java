package org.nvmf4j.cli;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.FaultOptions;
import picocli.CommandLine.Option;

/** Options of the RDMA device, for every command that uses one. */
final class DeviceMixin {
    static final String PROVIDER_OPTION = "--provider";

    @Option(
            names = PROVIDER_OPTION,
            paramLabel = "NAME",
            defaultValue = Device.ANY_PROVIDER,
            description =
                    "RDMA provider: ibverbs (RDMA devices of the kernel), softroce (UDP sockets), loopback (this process"
                            + " only), or auto: ibverbs where such a device has the address, else softroce"
                            + " (default: ${DEFAULT-VALUE}).")
    String provider = Device.ANY_PROVIDER;

    @Option(
            names = "--device",
            paramLabel = "NAME",
            description = "RDMA device, as nvmf devices lists it (default: whichever has the address).")
    @Nullable
    String deviceName;

    @Option(
            names = "--path-mtu",
            paramLabel = "BYTES",
            description = "Largest RoCE path MTU: 256, 512, 1024, 2048 or 4096 (default: what the interface carries).")
    int pathMtuBytes;

    @Option(names = "--pcap", paramLabel = "FILE", description = "Write every packet to a pcap file.")
    @Nullable
    Path pcapFile;

    @Option(
            names = "--faults",
            paramLabel = "SPEC",
            converter = FaultsConverter.class,
            description =
                    "Damage what is sent: loss=P,duplicate=P,reorder=P,corrupt=P,seed=N; P is 0.01 or 1%%, per packet.")
    @Nullable
    FaultOptions faults;

    /**
     * Refuses a provider that there is not, before anything is opened.
     *
     * @throws IllegalArgumentException with one line that names those there are
     */
    void check() {
        if (!provider.equals(Device.ANY_PROVIDER) && !Device.providerNames().contains(provider)) {
            throw new IllegalArgumentException("--provider must be " + Device.ANY_PROVIDER + " or one of "
                    + String.join(", ", Device.providerNames()) + ", not '" + provider + "'");
        }
    }

    DeviceOptions applyTo(DeviceOptions options) {
        return options.withPathMtuBytes(pathMtuBytes)
                .withPcapFile(pcapFile)
                .withFaults(faults)
                .withDeviceName(deviceName);
    }
}

package org.nvmf4j.ibverbs;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.linux.DescriptorWaiter;
import org.nvmf4j.linux.NetworkRoutes;
import org.nvmf4j.linux.SystemErrors;
import org.nvmf4j.verbs.AddressText;
import org.nvmf4j.verbs.DeviceDescription;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.ProviderDevice;
import org.nvmf4j.verbs.spi.VerbsProvider;

/**
 * RDMA devices of this machine, through rdma-core's libibverbs and librdmacm: NICs, and the kernel's soft devices. The device is the one
 * that owns the local address.
 */
public final class IbVerbsProvider implements VerbsProvider {
    static final String NAME = "ibverbs";

    /** Hardware where there is some. */
    private static final int RANK = 100;

    private static final Path KERNEL_DEVICES = Path.of("/sys/class/infiniband");

    private final Path kernelDevices;
    private final Loading libraries;

    /** How the libraries are loaded. */
    @FunctionalInterface
    interface Loading {
        RdmaCore load() throws VerbsException;
    }

    public IbVerbsProvider() {
        this(KERNEL_DEVICES, RdmaCore::load);
    }

    /** On another machine, for tests. */
    IbVerbsProvider(Path kernelDevices, Loading libraries) {
        this.kernelDevices = kernelDevices;
        this.libraries = libraries;
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public int rank() {
        return RANK;
    }

    @Override
    public String unavailableBecause() {
        if (!DescriptorWaiter.problem().isEmpty()) {
            return DescriptorWaiter.problem();
        }
        if (!hasKernelDevice()) {
            return "the kernel has no RDMA device: load the driver of a NIC, or rdma_rxe (rdma link add rxe0 type rxe netdev DEV)";
        }
        try {
            RdmaCore _ = libraries.load();
            return "";
        } catch (VerbsException e) {
            return String.valueOf(e.getMessage());
        }
    }

    @Override
    public List<DeviceDescription> describeDevices() {
        return report().all();
    }

    private DeviceReport report() {
        return new DeviceReport(kernelDevices, this);
    }

    private boolean hasKernelDevice() {
        try (Stream<Path> devices = Files.list(kernelDevices)) {
            return devices.findAny().isPresent();
        } catch (IOException e) {
            return false;
        }
    }

    @Override
    public boolean canOpen(DeviceOptions options) {
        if (options.pcapFile() != null
                || options.faults() != null
                || !unavailableBecause().isEmpty()) {
            return false;
        }
        try {
            String found = IbVerbsDevice.nameAt(libraries.load(), local(options));
            return options.deviceName() == null || found.equals(options.deviceName());
        } catch (VerbsException e) {
            return false;
        }
    }

    @Override
    public String deviceName(DeviceOptions options) {
        try {
            return unavailableBecause().isEmpty() ? IbVerbsDevice.nameAt(libraries.load(), local(options)) : NAME;
        } catch (VerbsException e) {
            return NAME;
        }
    }

    @Override
    public ProviderDevice open(DeviceOptions options) throws VerbsException {
        String problem = unavailableBecause();
        if (!problem.isEmpty()) {
            throw new VerbsException(problem);
        }
        if (options.faults() != null || options.pcapFile() != null) {
            throw new VerbsException(
                    "an RDMA device " + (options.faults() != null ? "injects no faults" : "writes no pcap file")
                            + ": use provider softroce");
        }
        InetAddress local = local(options);
        checkDeviceName(options.withLocalAddress(local));
        try {
            return new IbVerbsDevice(libraries.load(), local, options);
        } catch (VerbsException e) {
            String owner = e.errno() == SystemErrors.ENODEV ? report().ownerOf(local) : "";
            if (owner.isEmpty()) {
                throw e;
            }
            throw new VerbsException("RDMA device " + owner + " has the address " + AddressText.of(local)
                    + ", but cannot be opened: give this user access to /dev/infiniband (group rdma, or root), and load the kernel"
                    + " module ib_uverbs");
        }
    }

    private InetAddress local(DeviceOptions options) throws VerbsException {
        @Nullable InetAddress local = options.localAddress();
        InetAddress remote = options.remoteAddress();
        String wanted = options.deviceName();
        if (local == null && wanted != null) {
            local = report().addressOf(wanted, remote);
        }
        if (local == null && remote != null) {
            try {
                local = NetworkRoutes.sourceAddressFor(remote);
            } catch (IOException e) {
                throw new VerbsException("no way to " + AddressText.of(remote) + ": " + e.getMessage(), e);
            }
        }
        if (local == null) {
            throw new VerbsException("a device is found by its address, or by that of a peer: give one");
        }
        if (local.isLoopbackAddress() || local.isAnyLocalAddress()) {
            throw new VerbsException("no RDMA device has the address " + AddressText.of(local)
                    + ": give the address of its network interface, or use provider softroce");
        }
        return local;
    }
}

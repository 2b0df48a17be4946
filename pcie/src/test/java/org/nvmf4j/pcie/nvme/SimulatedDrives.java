package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import org.nvmf4j.pcie.PciAddress;
import org.nvmf4j.target.spi.Backend;

/** Drives of which one is there, simulated; the test looks after it. */
final class SimulatedDrives {
    static final String ADDRESS = "0000:04:00.0";

    private SimulatedDrives() {}

    static NvmeDrives of(SimulatedNvme device, boolean threads) {
        return new NvmeDrives(address -> open(device, address), threads);
    }

    private static NvmeHardware open(SimulatedNvme device, PciAddress address) throws IOException {
        if (!address.toString().equals(ADDRESS)) {
            throw new IOException(address + " is not there");
        }
        return device;
    }

    /** The only namespace of a drive that the test looks after. */
    static Backend backend(SimulatedNvme device) throws IOException {
        return backend(device, false);
    }

    static Backend backend(SimulatedNvme device, boolean useCmbSqs) throws IOException {
        return of(device, false).open(ADDRESS, 0, useCmbSqs);
    }
}

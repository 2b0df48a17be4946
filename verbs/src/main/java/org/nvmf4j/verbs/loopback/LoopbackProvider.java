package org.nvmf4j.verbs.loopback;

import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.ProviderDevice;
import org.nvmf4j.verbs.spi.VerbsProvider;

/**
 * Opens devices that reach only devices of the same provider in the same process. For tests and for trying things: taken when it
 * is named, never by itself.
 */
public final class LoopbackProvider implements VerbsProvider {
    @Override
    public String name() {
        return "loopback";
    }

    @Override
    public int rank() {
        return Integer.MIN_VALUE;
    }

    /** Never: whoever asks for any provider wants to reach another process. */
    @Override
    public boolean canOpen(DeviceOptions options) {
        return false;
    }

    @Override
    public ProviderDevice open(DeviceOptions options) throws VerbsException {
        checkDeviceName(options);
        if (options.faults() != null) {
            throw new VerbsException(
                    "the loopback provider sends no packets and so injects no faults: use provider softroce, or no faults");
        }
        if (options.pcapFile() != null) {
            throw new VerbsException(
                    "the loopback provider sends no packets and so writes no pcap file: use provider softroce, or no pcap file");
        }
        return LoopbackNetwork.open(options);
    }
}

package org.nvmf4j.verbs.spi;

import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.VerbsException;

/** A kind of RDMA device; found by {@link java.util.ServiceLoader}, both from modules and from the class path. */
public interface VerbsProvider {
    /** As in {@code --provider}: one lower-case word. */
    String name();

    /** Among the providers that can serve an address the one with the highest rank is taken. */
    int rank();

    /** Why no device of this provider can be opened on this machine, and what to do, in one line; empty if nothing is in the way. */
    default String unavailableBecause() {
        return "";
    }

    /** Whether this provider can serve the addresses that the options name. */
    boolean canOpen(DeviceOptions options);

    /** The {@linkplain org.nvmf4j.verbs.DeviceAttributes#name name} of the device that the options would open. */
    default String deviceName(DeviceOptions options) {
        return name();
    }

    /**
     * Opens a device.
     *
     * @throws VerbsException with one line that says what is in the way and what to do
     */
    ProviderDevice open(DeviceOptions options) throws VerbsException;
}

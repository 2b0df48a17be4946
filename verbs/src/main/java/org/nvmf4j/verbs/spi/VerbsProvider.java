package org.nvmf4j.verbs.spi;

import java.util.List;
import org.nvmf4j.verbs.DeviceDescription;
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

    /** The devices that there are, for people; may open them to try what they do. */
    default List<DeviceDescription> describeDevices() {
        return List.of();
    }

    /** Whether this provider can serve the addresses that the options name. */
    boolean canOpen(DeviceOptions options);

    /** The {@linkplain org.nvmf4j.verbs.DeviceAttributes#name name} of the device that the options would open. */
    default String deviceName(DeviceOptions options) {
        return name();
    }

    /**
     * Refuses options that name another device than {@link #deviceName} does.
     *
     * @throws VerbsException with one line
     */
    default void checkDeviceName(DeviceOptions options) throws VerbsException {
        String wanted = options.deviceName();
        String own = deviceName(options);
        if (wanted != null && !wanted.equals(own)) {
            throw new VerbsException("provider " + name() + " has no device '" + wanted
                    + "' here: with these addresses it is called " + own + "; see nvmf devices");
        }
    }

    /**
     * Opens a device.
     *
     * @throws VerbsException with one line that says what is in the way and what to do
     */
    ProviderDevice open(DeviceOptions options) throws VerbsException;
}

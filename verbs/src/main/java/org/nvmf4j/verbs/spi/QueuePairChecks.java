package org.nvmf4j.verbs.spi;

import org.nvmf4j.verbs.CompletionVector;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.DeviceAttributes;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.QueuePairOptions;
import org.nvmf4j.verbs.VerbsException;

/** What a provider checks before it creates or connects a queue pair: drivers check too, but say EINVAL to everything. */
public final class QueuePairChecks {
    private QueuePairChecks() {}

    /**
     * Checks that a queue pair is within the device's limits, and its protection domain of this device.
     *
     * @throws VerbsException if more is asked for than the device can do
     * @throws IllegalArgumentException if the protection domain is of another device
     */
    public static void create(
            DeviceAttributes device, MemoryTable memory, ProtectionDomain domain, QueuePairOptions options)
            throws VerbsException {
        sizes(device, options);
        if (!memory.owns(domain)) {
            throw new IllegalArgumentException("the protection domain is of another device");
        }
    }

    /**
     * Checks the sizes alone.
     *
     * @throws VerbsException if more is asked for than the device can do
     */
    public static void sizes(DeviceAttributes device, QueuePairOptions options) throws VerbsException {
        limit(device, "send work requests", options.maxSendRequests(), device.maxWorkRequests());
        limit(device, "receive work requests", options.maxReceiveRequests(), device.maxWorkRequests());
        limit(device, "scatter/gather elements", options.maxSge(), device.maxSge());
    }

    /**
     * The vector of a queue pair's completion queues, which must be {@link CompletionRing}s.
     *
     * @param vectors those of the device, in order
     * @throws IllegalArgumentException if the completion queues are of another device
     */
    public static <V extends CompletionVector> V vector(QueuePairOptions options, V[] vectors) {
        if (options.sendQueue() instanceof CompletionRing sends && options.receiveQueue() instanceof CompletionRing) {
            int index = sends.vector().index();
            if (index < vectors.length && vectors[index] == sends.vector()) {
                return vectors[index];
            }
        }
        throw new IllegalArgumentException("the completion queues are of another device");
    }

    /**
     * Checks what a connection asks for, or answers with.
     *
     * @throws VerbsException if that is more than the device can do
     */
    public static void connect(DeviceAttributes device, ConnectionParameters parameters) throws VerbsException {
        limit(device, "RDMA READs outstanding", parameters.initiatorDepth(), device.maxReadRequests());
        limit(device, "responder resources", parameters.responderResources(), device.maxReadRequests());
    }

    private static void limit(DeviceAttributes device, String what, int asked, int most) throws VerbsException {
        if (asked > most) {
            throw new VerbsException(
                    "a " + device.provider() + " queue pair has at most " + most + " " + what + ", not " + asked);
        }
    }
}

package org.nvmf4j.verbs.spi;

import org.nvmf4j.verbs.CompletionVector;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.DeviceAttributes;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.QueuePairOptions;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkRequest;

/**
 * What a provider checks before it creates or connects a queue pair, or posts on one: drivers check too, but say EINVAL to everything.
 */
public final class QueuePairChecks {
    private static final String KIND = "queue pair";

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
        domain(memory, domain);
    }

    /**
     * Checks a protection domain.
     *
     * @throws IllegalArgumentException if it is of another device
     */
    public static void domain(MemoryTable memory, ProtectionDomain domain) {
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
        limit(device, KIND, "send work requests", options.maxSendRequests(), device.maxWorkRequests());
        limit(device, KIND, "receive work requests", options.maxReceiveRequests(), device.maxWorkRequests());
        limit(device, KIND, "scatter/gather elements", options.maxSge(), device.maxSge());
    }

    /**
     * The vector of a queue pair's completion queues, which must be {@link CompletionRing}s.
     *
     * @param vectors those of the device, in order
     * @throws IllegalArgumentException if the completion queues are of another device
     * @throws IllegalStateException if one of them is closed, before a queue pair is attached to the other
     */
    public static <V extends CompletionVector> V vector(QueuePairOptions options, V[] vectors) {
        if (options.sendQueue() instanceof CompletionRing sends
                && options.receiveQueue() instanceof CompletionRing receives) {
            int index = sends.vector().index();
            if (index < vectors.length && vectors[index] == sends.vector()) {
                sends.checkOpen();
                receives.checkOpen();
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
        limit(device, KIND, "RDMA READs outstanding", parameters.initiatorDepth(), device.maxReadRequests());
        limit(device, KIND, "responder resources", parameters.responderResources(), device.maxReadRequests());
    }

    /**
     * Checks that a queue pair can be connected.
     *
     * @param connecting whether that is under way
     * @throws IllegalStateException if it cannot, or not once more
     */
    public static void connectable(QueuePairState state, boolean connecting) {
        if (state != QueuePairState.INIT || connecting) {
            throw new IllegalStateException("a queue pair can be connected once, in state INIT; this one is in state "
                    + state + (connecting ? " and connecting" : ""));
        }
    }

    /**
     * Checks that sends can be posted, be it to be flushed.
     *
     * @throws IllegalStateException before the queue pair is connected, and after it is closed
     */
    public static void canSend(QueuePairState state) {
        if (state == QueuePairState.INIT || state == QueuePairState.DESTROYED) {
            throw new IllegalStateException("cannot send on a queue pair in state " + state);
        }
    }

    /**
     * Checks that receives can be posted, be it to be flushed.
     *
     * @param shares whether the queue pair takes its receives from a queue that it shares
     * @throws IllegalStateException if it does, and after the queue pair is closed
     */
    public static void canReceive(QueuePairState state, boolean shares) {
        if (state == QueuePairState.DESTROYED) {
            throw new IllegalStateException("cannot receive on a queue pair in state " + state);
        }
        if (shares) {
            throw new IllegalStateException(
                    "this queue pair takes its receives from a shared receive queue: post them there");
        }
    }

    /**
     * Checks a chain before any of it is taken.
     *
     * @param free work requests that the send queue has room for
     * @throws IllegalArgumentException if a request does not fit the queue pair
     * @throws IllegalStateException if there is no room for the chain
     */
    public static void sends(SendWorkRequest first, int maxSge, int inlineBytes, long free) {
        int count = 0;
        for (SendWorkRequest request = first; request != null; request = request.next()) {
            sges(request, maxSge);
            if (request.inline() && (!request.opcode().canBeInline() || request.lengthBytes() > inlineBytes)) {
                throw new IllegalArgumentException("a work request of " + request.lengthBytes()
                        + " bytes is marked inline; the queue pair takes SEND and RDMA WRITE of up to " + inlineBytes);
            }
            count++;
        }
        room("send", free, count);
    }

    /**
     * Checks a chain before any of it is taken.
     *
     * @param free work requests that the receive queue has room for
     * @throws IllegalArgumentException if a request does not fit the queue pair
     * @throws IllegalStateException if there is no room for the chain
     */
    public static void receives(ReceiveWorkRequest first, int maxSge, long free) {
        int count = 0;
        for (ReceiveWorkRequest request = first; request != null; request = request.next()) {
            sges(request, maxSge);
            count++;
        }
        room("receive", free, count);
    }

    private static void sges(WorkRequest request, int maxSge) {
        if (request.sgeCount() > maxSge) {
            throw new IllegalArgumentException(
                    "the queue pair takes " + maxSge + " SGEs a work request, not " + request.sgeCount());
        }
        for (int i = 0; i < request.sgeCount(); i++) {
            if (request.sgeLength(i) < 0) {
                throw new IllegalArgumentException("SGE " + i + " has a negative length: " + request.sgeLength(i));
            }
        }
    }

    private static void room(String queue, long free, int count) {
        if (count > free) {
            throw new IllegalStateException(
                    "the " + queue + " queue has room for " + free + " more work requests, not " + count);
        }
    }

    static void limit(DeviceAttributes device, String kind, String what, int asked, int most) throws VerbsException {
        if (asked > most) {
            throw new VerbsException(
                    "a " + device.provider() + " " + kind + " has at most " + most + " " + what + ", not " + asked);
        }
    }
}

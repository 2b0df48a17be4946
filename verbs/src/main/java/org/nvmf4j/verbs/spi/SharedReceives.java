package org.nvmf4j.verbs.spi;

import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.CompletionVector;
import org.nvmf4j.verbs.DeviceAttributes;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.QueuePairOptions;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SharedReceiveQueue;
import org.nvmf4j.verbs.VerbsException;

/** What the shared receive queues of all providers have in common: to whom they belong, and who uses them. Belongs to a lane. */
public abstract class SharedReceives implements SharedReceiveQueue {
    private final CompletionVector vector;
    private final ProtectionDomain domain;
    private final int capacity;
    private final int maxSge;
    private int users;
    private boolean closed;

    /**
     * A queue without users.
     *
     * @throws VerbsException if more is asked for than the device can do
     */
    protected SharedReceives(
            DeviceAttributes device, CompletionVector vector, ProtectionDomain domain, int capacity, int maxSge)
            throws VerbsException {
        if (capacity < 1 || maxSge < 1) {
            throw new IllegalArgumentException(
                    "a shared receive queue's sizes must be positive: receives " + capacity + ", SGEs " + maxSge);
        }
        QueuePairChecks.limit(
                device, "shared receive queue", "receive work requests", capacity, device.maxWorkRequests());
        QueuePairChecks.limit(device, "shared receive queue", "scatter/gather elements", maxSge, device.maxSge());
        this.vector = vector;
        this.domain = domain;
        this.capacity = capacity;
        this.maxSge = maxSge;
    }

    /**
     * The queue that a queue pair is to use, of the provider's own class, or null.
     *
     * @throws IllegalArgumentException if it is of another device, vector or protection domain
     */
    public static <S extends SharedReceives> @Nullable S of(
            QueuePairOptions options, ProtectionDomain domain, Class<S> type) {
        SharedReceiveQueue shared = options.sharedReceives();
        if (shared == null) {
            return null;
        }
        if (!type.isInstance(shared)) {
            throw new IllegalArgumentException("the shared receive queue is of another device");
        }
        S own = type.cast(shared);
        SharedReceives base = own;
        if (base.domain != domain || base.vector != options.receiveQueue().vector()) {
            throw new IllegalArgumentException(
                    "a shared receive queue and its queue pairs must be of one protection domain and vector");
        }
        base.checkOpen();
        return own;
    }

    @Override
    public final int capacity() {
        return capacity;
    }

    public final int maxSge() {
        return maxSge;
    }

    /** A queue pair begins to use it. */
    public final void attach() {
        users++;
    }

    /** A queue pair is closed. */
    public final void detach() {
        users--;
    }

    @Override
    public final void postReceive(ReceiveWorkRequest first) {
        checkOpen();
        post(first);
    }

    private void checkOpen() {
        if (closed) {
            throw new IllegalStateException("the shared receive queue is closed");
        }
    }

    @Override
    public final void close() {
        if (closed) {
            return;
        }
        if (users > 0) {
            throw new IllegalStateException(
                    users + " queue pairs still use the shared receive queue: close them first");
        }
        closed = true;
        release();
    }

    /** Takes a chain whole, or throws and takes nothing of it. */
    protected abstract void post(ReceiveWorkRequest first);

    /** Frees what it holds; called once. */
    protected abstract void release();
}

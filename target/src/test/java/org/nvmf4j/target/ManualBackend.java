package org.nvmf4j.target;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.target.spi.BackendOperation;
import org.nvmf4j.target.spi.BackendRequest;
import org.nvmf4j.target.spi.BackendStatus;

/** A backend whose requests end when the test says so; watches that each is with it once. Thread-safe. */
final class ManualBackend implements Backend {
    private final long sizeBytes;
    private final List<BackendRequest> waiting = new ArrayList<>();
    private final IdentityHashMap<BackendRequest, Boolean> here = new IdentityHashMap<>();
    private boolean closed;
    private boolean throwNext;
    private long ended;

    ManualBackend(long sizeBytes) {
        this.sizeBytes = sizeBytes;
    }

    @Override
    public long sizeBytes() {
        return sizeBytes;
    }

    @Override
    public int preferredBlockSizeBytes() {
        return 512;
    }

    @Override
    public boolean volatileWriteCache() {
        return true;
    }

    @Override
    public synchronized BackendStatus submit(BackendRequest request) {
        if (closed) {
            throw new AssertionError("a request after the end of the backend");
        }
        if (throwNext) {
            throwNext = false;
            throw new UnsupportedOperationException("as the test wants it");
        }
        if (here.put(request, true) != null) {
            throw new AssertionError("a request that is here already");
        }
        waiting.add(request);
        return BackendStatus.PENDING;
    }

    /** Throws at the next request. */
    synchronized void throwNext() {
        throwNext = true;
    }

    synchronized int waiting() {
        return waiting.size();
    }

    synchronized BackendRequest next() {
        return waiting.getFirst();
    }

    BackendOperation operation() {
        return next().operation();
    }

    /** Ends the oldest request. */
    void complete(BackendStatus status) {
        complete(0, status);
    }

    /** Ends one of the requests. */
    void complete(int index, BackendStatus status) {
        BackendRequest request;
        synchronized (this) {
            request = waiting.remove(index);
            here.remove(request);
            ended++;
        }
        request.complete(status);
    }

    synchronized long ended() {
        return ended;
    }

    synchronized boolean isClosed() {
        return closed;
    }

    @Override
    public String description() {
        return "ended by hand";
    }

    @Override
    public synchronized void close() {
        if (closed || !waiting.isEmpty()) {
            throw new IllegalStateException("closed twice, or with " + waiting.size() + " requests");
        }
        closed = true;
    }
}

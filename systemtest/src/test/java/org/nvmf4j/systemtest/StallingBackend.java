package org.nvmf4j.systemtest;

import java.util.ArrayList;
import java.util.List;
import org.nvmf4j.target.backend.MemoryBackend;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.target.spi.BackendRequest;
import org.nvmf4j.target.spi.BackendStatus;

/** A backend that answers its first requests and then keeps all that come until the test lets them go. Thread-safe. */
final class StallingBackend implements Backend {
    private final MemoryBackend data;
    private final List<BackendRequest> kept = new ArrayList<>();
    private int answersLeft;
    private boolean stalls = true;

    /**
     * Makes a backend.
     *
     * @param answers how many requests end at once
     */
    StallingBackend(long sizeBytes, int answers) {
        data = new MemoryBackend(sizeBytes);
        answersLeft = answers;
    }

    @Override
    public long sizeBytes() {
        return data.sizeBytes();
    }

    @Override
    public int preferredBlockSizeBytes() {
        return data.preferredBlockSizeBytes();
    }

    @Override
    public synchronized BackendStatus submit(BackendRequest request) {
        if (!stalls || answersLeft > 0) {
            answersLeft--;
            return data.submit(request);
        }
        kept.add(request);
        return BackendStatus.PENDING;
    }

    synchronized int kept() {
        return kept.size();
    }

    /** Ends the requests that were kept, and from now on each at once. */
    void letGo() {
        List<BackendRequest> ending;
        synchronized (this) {
            stalls = false;
            ending = List.copyOf(kept);
            kept.clear();
        }
        ending.forEach(request -> request.complete(BackendStatus.SUCCESS));
    }

    @Override
    public String description() {
        return "stalls";
    }

    @Override
    public void close() {
        data.close();
    }
}

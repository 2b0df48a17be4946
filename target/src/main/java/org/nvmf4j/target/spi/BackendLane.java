package org.nvmf4j.target.spi;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * What a {@link Backend} has for one lane of the target, such as a queue pair of a device, so that no lock is needed between lanes. All
 * methods are called on that lane, and none may block.
 */
public interface BackendLane extends AutoCloseable {
    /**
     * Long-lived memory that data of requests will lie in, before the first request that lies there: a {@link BackendRequest#mapping} is
     * what is returned here. It is {@linkplain BackendMapping#close closed} after the last of them has ended, and before the memory goes.
     *
     * @param memory native, its address and size multiples of 4096
     * @param block that the memory is, if it is peer memory, else null
     * @return never null: a backend that cannot map it returns what tells it to copy the data
     */
    BackendMapping map(MemorySegment memory, @Nullable PeerBlock block);

    /** As {@link Backend#submit}. */
    BackendStatus submit(BackendRequest request);

    /**
     * Ends the requests that the device is through with, by {@link BackendRequest#complete}; called in every duty cycle.
     *
     * @param nowNanos {@link System#nanoTime} at the start of the cycle
     * @return 0 if there was nothing to do
     */
    int poll(long nowNanos);

    /** Whether {@link #poll} has something to wait for: a lane that waits then does so for a moment at a time. */
    boolean hasOutstanding();

    /** Frees what it holds; called once, after every request has ended and every mapping is closed. */
    @Override
    void close();
}

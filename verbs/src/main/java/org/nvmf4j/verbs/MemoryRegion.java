package org.nvmf4j.verbs;

import java.lang.foreign.MemorySegment;

/** Registered memory. Thread-safe; {@link #close} must not race with requests that name its keys. */
public interface MemoryRegion extends AutoCloseable {
    MemorySegment segment();

    /** The address that a peer uses: that of {@link #segment}. */
    default long address() {
        return segment().address();
    }

    default long lengthBytes() {
        return segment().byteSize();
    }

    /** The key for local use, in {@link WorkRequest#addSge}. */
    int lkey();

    /** The key for the peer; 0 while invalid (no remote right, or invalidated by the peer). */
    int rkey();

    /** Whether the memory may be taken away: then the CPU must touch it by {@link OnDemandMemory} only. */
    default boolean isOnDemand() {
        return false;
    }

    /**
     * Gives the region another rkey and makes the old one invalid, as a fast registration does; needed after the peer
     * invalidated it.
     *
     * @return the new rkey
     * @throws IllegalStateException if the region grants no remote right, or the device cannot do that to a dma-buf
     */
    int renewRkey();

    /** Ends the registration: both keys are invalid when this returns. */
    @Override
    void close();
}

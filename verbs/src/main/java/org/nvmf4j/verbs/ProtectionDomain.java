package org.nvmf4j.verbs;

import java.lang.foreign.MemorySegment;
import java.util.Set;

/** What may be used together: a key of one domain is worthless on a queue pair of another. Thread-safe. */
public interface ProtectionDomain extends AutoCloseable {
    /**
     * Registers memory, so that work requests may name it by lkey and, with the remote rights, the peer by rkey. Slow: once for
     * long-lived buffers, not per request.
     *
     * @param memory native memory, at least one byte, that stays alive until the region is closed
     * @param access rights beyond local reading
     * @throws IllegalArgumentException if the memory is on the heap or the rights contradict each other
     * @throws VerbsException if the device has no more room
     */
    MemoryRegion register(MemorySegment memory, Set<AccessFlag> access) throws VerbsException;

    /** Frees the domain; its regions and queue pairs must be closed before. */
    @Override
    void close();
}

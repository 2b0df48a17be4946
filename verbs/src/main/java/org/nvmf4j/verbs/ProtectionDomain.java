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
     * @throws VerbsException if the device has no more room, or cannot reach such memory
     */
    MemoryRegion register(MemorySegment memory, Set<AccessFlag> access) throws VerbsException;

    /**
     * Registers a part of a dma-buf, or of another file that can be mapped, as {@code ibv_reg_dmabuf_mr}; always {@link
     * AccessFlag#ON_DEMAND}, since its exporter may take it away. {@link MemoryRegion#segment} is the bytes as the CPU sees them, mapped
     * until the region is closed.
     *
     * @param fd open for reading and writing; stays the caller's, who may close it at once
     * @param offsetBytes where the region begins in it, a multiple of the page size
     * @throws IllegalArgumentException if the offset or length cannot be, or the rights contradict each other
     * @throws VerbsException if this provider or its driver registers none, or the system does not map it
     */
    default MemoryRegion registerDmaBuf(int fd, long offsetBytes, long lengthBytes, Set<AccessFlag> access)
            throws VerbsException {
        throw new VerbsException("this provider registers no dma-buf; register memory of the CPU instead");
    }

    /** Frees the domain; its regions and queue pairs must be closed before. */
    @Override
    void close();
}

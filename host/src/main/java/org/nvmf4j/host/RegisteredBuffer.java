package org.nvmf4j.host;

import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;
import org.nvmf4j.verbs.MemoryRegion;

/**
 * Memory registered with a host's device, which data moves to and from without a copy. Register once and use it for many requests;
 * close it when none of them is outstanding. Requests may use disjoint parts at the same time.
 */
public final class RegisteredBuffer implements AutoCloseable {
    private final MemoryRegion region;
    private final MemorySegment segment;
    private final long address;
    private final int lkey;
    private final int rkey;
    private final Consumer<RegisteredBuffer> onClose;

    RegisteredBuffer(MemoryRegion region, Consumer<RegisteredBuffer> onClose) {
        this.region = region;
        this.segment = region.segment();
        this.address = region.address();
        this.lkey = region.lkey();
        this.rkey = region.rkey();
        this.onClose = onClose;
    }

    /** The memory. */
    public MemorySegment segment() {
        return segment;
    }

    public long lengthBytes() {
        return segment.byteSize();
    }

    long address() {
        return address;
    }

    int lkey() {
        return lkey;
    }

    int rkey() {
        return rkey;
    }

    /** Whether all of a segment's bytes are of this buffer. */
    boolean contains(MemorySegment other) {
        long offset = other.address() - address;
        return offset >= 0 && offset <= segment.byteSize() && other.byteSize() <= segment.byteSize() - offset;
    }

    /** Ends the registration; the memory is the caller's again. */
    @Override
    public void close() {
        onClose.accept(this);
        region.close();
    }
}

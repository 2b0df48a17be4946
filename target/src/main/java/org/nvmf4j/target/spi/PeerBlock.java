package org.nvmf4j.target.spi;

import java.lang.foreign.MemorySegment;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** A part of a {@link PeerMemory}, mapped for the CPU. */
public interface PeerBlock extends AutoCloseable {
    /** Its bytes; valid on any thread until {@link #close}. */
    MemorySegment segment();

    /** Where PCI devices find it, if that is known. */
    default OptionalLong busAddress() {
        return OptionalLong.empty();
    }

    /** A file descriptor of a dma-buf of just this block, if there is one; it belongs to the block. */
    default OptionalInt dmaBuf() {
        return OptionalInt.empty();
    }

    /** Gives it back. */
    @Override
    void close();
}

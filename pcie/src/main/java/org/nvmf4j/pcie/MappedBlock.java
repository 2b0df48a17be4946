package org.nvmf4j.pcie;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import org.nvmf4j.linux.MappedFile;
import org.nvmf4j.target.spi.PeerBlock;

/** A part of a file of sysfs, mapped. */
final class MappedBlock implements PeerBlock {
    static final long PAGE_BYTES = 4096;

    private final Arena arena = Arena.ofShared();
    private final MemorySegment segment;
    private final Runnable whenClosed;

    /**
     * Maps.
     *
     * @param mappedBytes whole pages
     * @param bytes what of them the block shows
     * @param whenClosed runs once, after the memory is unmapped
     */
    MappedBlock(Path file, long offset, long mappedBytes, long bytes, Runnable whenClosed) throws IOException {
        this.whenClosed = whenClosed;
        boolean mapped = false;
        try {
            segment = MappedFile.map(arena, file, offset, mappedBytes).asSlice(0, bytes);
            mapped = true;
        } finally {
            if (!mapped) {
                arena.close();
            }
        }
    }

    /** Bytes in whole pages. */
    static long pages(long bytes) {
        if (bytes <= 0 || bytes > Long.MAX_VALUE - PAGE_BYTES) {
            throw new IllegalArgumentException("cannot allocate " + bytes + " bytes");
        }
        return (bytes + PAGE_BYTES - 1) & -PAGE_BYTES;
    }

    @Override
    public MemorySegment segment() {
        return segment;
    }

    /** A block that some thread hands to the kernel just now stays, and that is an {@link IllegalStateException}. */
    @Override
    public synchronized void close() {
        if (arena.scope().isAlive()) {
            arena.close();
            whenClosed.run();
        }
    }
}

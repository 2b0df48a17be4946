package org.nvmf4j.target;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.target.spi.BackendMapping;

/**
 * Registered memory for the data of one request, from {@link #offset} of {@link #segment} on. It goes back to where it came from:
 * memory of another kind is another {@link Source}.
 */
final class DataBuffer {
    /** Where buffers come from; belongs to one lane. */
    interface Source {
        /** Takes a buffer back that {@link DataBuffer#release} returns. */
        void takeBack(DataBuffer buffer);

        /**
         * Whether the memory has vanished, and all data in it.
         *
         * @param suspicious whether there is a reason to look closer, which takes a system call
         */
        default boolean isLost(boolean suspicious) {
            return false;
        }

        /** How often what is in the memory has lost its meaning. */
        default long losses() {
            return 0;
        }

        /** Whether the memory may vanish. */
        default boolean mayVanish() {
            return false;
        }

        /** What a backend's part of the lane has made of the memory, from the first time on. */
        BackendMapping mapping(BackendLanes.Use use);

        /** An access has found that the memory has vanished. */
        default void vanished() {
            throw new IllegalStateException("system memory does not vanish");
        }
    }

    private final Source source;
    private final MemorySegment segment;
    private final int lkey;
    private @Nullable ByteBuffer view;
    private long offset;
    private long losses;
    private boolean taken;

    /**
     * A buffer object, used for one part of a segment after the other.
     *
     * @param lkey of the region that holds the segment
     */
    DataBuffer(Source source, MemorySegment segment, int lkey) {
        this.source = source;
        this.segment = segment;
        this.lkey = lkey;
    }

    void take(long offset) {
        if (taken) {
            throw new IllegalStateException("a data buffer was handed out twice");
        }
        this.offset = offset;
        losses = source.losses();
        taken = true;
    }

    MemorySegment segment() {
        return segment;
    }

    long offset() {
        return offset;
    }

    int lkey() {
        return lkey;
    }

    /** A view of the whole segment that nobody else uses while this buffer is taken. */
    ByteBuffer view() {
        ByteBuffer made = view;
        if (made == null) {
            made = segment.asByteBuffer();
            view = made;
        }
        return made;
    }

    /**
     * Whether what was in the buffer since it was taken means nothing any more, be the memory there or not.
     *
     * @param suspicious see {@link Source#isLost}
     */
    boolean isLost(boolean suspicious) {
        return source.isLost(suspicious) || source.losses() != losses;
    }

    /** See {@link Source#mayVanish}. */
    boolean mayVanish() {
        return source.mayVanish();
    }

    /** See {@link Source#mapping}. */
    BackendMapping mapping(BackendLanes.Use use) {
        return source.mapping(use);
    }

    /** See {@link Source#vanished}. */
    void vanished() {
        source.vanished();
    }

    void release() {
        if (!taken) {
            throw new IllegalStateException("a data buffer was given back twice");
        }
        taken = false;
        source.takeBack(this);
    }
}

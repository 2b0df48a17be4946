package org.nvmf4j.softroce;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Byte buffer views of user memory for the CRC, which takes no memory segments. A view is made once per segment and kept while it
 * is used, so that none is made per packet; a segment beyond the reach of a byte buffer has several, which overlap. Confined to one
 * lane.
 */
final class BufferViews {
    private static final int SLOTS = 256;
    /** A view begins at each multiple of this, and reaches so far beyond the next that a packet's payload never straddles two. */
    private static final int WINDOW_SHIFT = 30;

    private static final long OVERLAP_BYTES = 1 << 16;

    private final @Nullable MemorySegment[] segments = new MemorySegment[SLOTS];
    private final long[] windows = new long[SLOTS];
    private final @Nullable ByteBuffer[] views = new ByteBuffer[SLOTS];

    /** A view that holds the byte at {@code offset} and at least the next 64 KiB that the segment has, at {@link #position}. */
    ByteBuffer view(MemorySegment segment, long offset) {
        long window = offset >>> WINDOW_SHIFT;
        int slot = slot(segment, window);
        ByteBuffer view = views[slot];
        if (view != null && windows[slot] == window && isSame(segment, segments[slot])) {
            return view;
        }
        long start = window << WINDOW_SHIFT;
        long length = Math.min(segment.byteSize() - start, (1L << WINDOW_SHIFT) + OVERLAP_BYTES);
        ByteBuffer made = segment.asSlice(start, length).asByteBuffer();
        segments[slot] = segment;
        windows[slot] = window;
        views[slot] = made;
        return made;
    }

    /** Equal segments have the same address and size; memory that was freed and given out again differs in its lifetime. */
    private static boolean isSame(MemorySegment segment, @Nullable MemorySegment known) {
        return known != null && segment.equals(known) && segment.scope().equals(known.scope());
    }

    /** Where the byte at {@code offset} of the segment lies in its view. */
    static int position(long offset) {
        return (int) (offset & ((1L << WINDOW_SHIFT) - 1));
    }

    private static int slot(MemorySegment segment, long window) {
        long mixed = (segment.address() ^ segment.byteSize() + window) * 0x9E37_79B9_7F4A_7C15L;
        return (int) (mixed >>> 32) & SLOTS - 1;
    }
}

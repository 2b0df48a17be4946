package org.nvmf4j.testkit;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Native memory between two guard zones, which tell whether anything was written outside. */
public final class GuardedMemory {
    private static final int USUAL_GUARD_BYTES = 256;
    private static final byte GUARD = (byte) 0xA5;

    private final MemorySegment whole;
    private final MemorySegment guarded;
    private final MemorySegment intact;

    /** So many bytes, all 0, of an arena. */
    public GuardedMemory(Arena arena, long lengthBytes) {
        this(arena, lengthBytes, USUAL_GUARD_BYTES);
    }

    /**
     * So many bytes, all 0, of an arena.
     *
     * @param guardBytes size of each guard zone; the memory is aligned to it where it is a power of two
     */
    public GuardedMemory(Arena arena, long lengthBytes, int guardBytes) {
        whole = arena.allocate(lengthBytes + 2L * guardBytes, Integer.lowestOneBit(guardBytes));
        guarded = whole.asSlice(guardBytes, lengthBytes);
        whole.asSlice(0, guardBytes).fill(GUARD);
        whole.asSlice(guardBytes + lengthBytes).fill(GUARD);
        intact = MemorySegment.ofArray(new byte[guardBytes]).fill(GUARD);
    }

    /** The memory to use. */
    public MemorySegment segment() {
        return guarded;
    }

    /** Throws if a byte outside {@link #segment} has changed. */
    public void check() {
        checkZone(0);
        checkZone(intact.byteSize() + guarded.byteSize());
    }

    private void checkZone(long start) {
        long guardBytes = intact.byteSize();
        long mismatch = MemorySegment.mismatch(whole, start, start + guardBytes, intact, 0, guardBytes);
        if (mismatch >= 0) {
            throw new AssertionError("byte " + (start + mismatch - guardBytes) + " was written, outside the "
                    + guarded.byteSize() + " bytes that may be");
        }
    }
}

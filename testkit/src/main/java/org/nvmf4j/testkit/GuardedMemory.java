package org.nvmf4j.testkit;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** Native memory between two guard zones, which tell whether anything was written outside. */
public final class GuardedMemory {
    private static final int GUARD_BYTES = 256;
    private static final byte GUARD = (byte) 0xA5;

    private static final MemorySegment INTACT = intact();

    private final MemorySegment whole;
    private final MemorySegment guarded;

    private static MemorySegment intact() {
        byte[] zone = new byte[GUARD_BYTES];
        Arrays.fill(zone, GUARD);
        return MemorySegment.ofArray(zone);
    }

    /** So many bytes, all 0, of an arena. */
    public GuardedMemory(Arena arena, long lengthBytes) {
        whole = arena.allocate(lengthBytes + 2L * GUARD_BYTES, 8);
        guarded = whole.asSlice(GUARD_BYTES, lengthBytes);
        whole.asSlice(0, GUARD_BYTES).fill(GUARD);
        whole.asSlice(GUARD_BYTES + lengthBytes).fill(GUARD);
    }

    /** The memory to use. */
    public MemorySegment segment() {
        return guarded;
    }

    /** Throws if a byte outside {@link #segment} has changed. */
    public void check() {
        checkZone(0);
        checkZone(GUARD_BYTES + guarded.byteSize());
    }

    private void checkZone(long start) {
        long mismatch = MemorySegment.mismatch(whole, start, start + GUARD_BYTES, INTACT, 0, GUARD_BYTES);
        if (mismatch >= 0) {
            throw new AssertionError("byte " + (start + mismatch - GUARD_BYTES) + " was written, outside the "
                    + guarded.byteSize() + " bytes that may be");
        }
    }
}

package org.nvmf4j.testkit;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Native memory between two guard zones, which tell whether anything was written outside. */
public final class GuardedMemory {
    private static final int GUARD_BYTES = 256;
    private static final byte GUARD = (byte) 0xA5;

    private final MemorySegment whole;
    private final MemorySegment guarded;

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
        for (long i = 0; i < GUARD_BYTES; i++) {
            if (whole.get(ValueLayout.JAVA_BYTE, start + i) != GUARD) {
                throw new AssertionError("byte " + (start + i - GUARD_BYTES) + " was written, outside the "
                        + guarded.byteSize() + " bytes that may be");
            }
        }
    }
}

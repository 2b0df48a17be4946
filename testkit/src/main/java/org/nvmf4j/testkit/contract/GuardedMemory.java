package org.nvmf4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.EnumSet;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.VerbsException;

/** Registered memory between two zones that are not registered and that nobody may touch. */
final class GuardedMemory implements AutoCloseable {
    private static final int GUARD_BYTES = 4096;
    private static final byte GUARD = (byte) 0xa5;
    /** What fresh registered memory holds. */
    private static final byte FRESH = 0x5a;

    private final MemorySegment all;
    private final MemorySegment inner;
    private final MemoryRegion region;

    GuardedMemory(ProtectionDomain domain, long bytes, EnumSet<AccessFlag> access) throws VerbsException {
        all = Arena.ofAuto().allocate(bytes + 2L * GUARD_BYTES, 4096).fill(GUARD);
        inner = all.asSlice(GUARD_BYTES, bytes).fill(FRESH);
        region = domain.register(inner, access);
    }

    MemoryRegion region() {
        return region;
    }

    long address() {
        return region.address();
    }

    MemorySegment segment() {
        return inner;
    }

    /** Bytes that differ by place and by seed. */
    void fill(long offset, long bytes, long seed) {
        for (long i = 0; i < bytes; i++) {
            inner.set(ValueLayout.JAVA_BYTE, offset + i, pattern(seed, i));
        }
    }

    void clear() {
        inner.fill(FRESH);
    }

    private static byte pattern(long seed, long i) {
        long x = (seed + 1) * 0x9e3779b97f4a7c15L + i;
        return (byte) (x ^ x >>> 8 ^ x >>> 16);
    }

    /** Compares with what {@link #fill} writes. */
    void assertFilled(long offset, long bytes, long seed) {
        for (long i = 0; i < bytes; i++) {
            if (inner.get(ValueLayout.JAVA_BYTE, offset + i) != pattern(seed, i)) {
                throw new AssertionError(
                        "byte " + i + " of " + bytes + " at offset " + offset + " is wrong for seed " + seed);
            }
        }
    }

    void assertFresh(long offset, long bytes) {
        assertAll(inner.asSlice(offset, bytes), FRESH, "memory that nothing was to be written to");
    }

    void assertFresh() {
        assertFresh(0, inner.byteSize());
    }

    void assertGuards() {
        assertAll(all.asSlice(0, GUARD_BYTES), GUARD, "the zone before a region");
        assertAll(all.asSlice(GUARD_BYTES + inner.byteSize()), GUARD, "the zone behind a region");
    }

    private static void assertAll(MemorySegment memory, byte value, String what) {
        for (long i = 0; i < memory.byteSize(); i++) {
            assertThat(memory.get(ValueLayout.JAVA_BYTE, i) == value)
                    .as("%s, byte %d", what, i)
                    .isTrue();
        }
    }

    @Override
    public void close() {
        region.close();
    }
}

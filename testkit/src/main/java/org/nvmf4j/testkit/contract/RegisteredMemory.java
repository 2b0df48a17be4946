package org.nvmf4j.testkit.contract;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.EnumSet;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.testkit.GuardedMemory;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.VerbsException;

/** Registered memory, usually between two zones that are not registered and that nobody may touch. */
final class RegisteredMemory implements AutoCloseable {
    private static final int GUARD_BYTES = 4096;
    /** What fresh registered memory holds. */
    private static final byte FRESH = 0x5a;

    private final @Nullable GuardedMemory memory;
    private final MemorySegment inner;
    private final MemoryRegion region;

    RegisteredMemory(ProtectionDomain domain, long bytes, EnumSet<AccessFlag> access) throws VerbsException {
        GuardedMemory guarded = new GuardedMemory(Arena.ofAuto(), bytes, GUARD_BYTES);
        memory = guarded;
        inner = guarded.segment().fill(FRESH);
        region = domain.register(inner, access);
    }

    /** Memory that is registered already, without guards. */
    RegisteredMemory(MemoryRegion region) {
        memory = null;
        inner = region.segment();
        this.region = region;
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
        for (long i = 0; i < bytes; i++) {
            if (inner.get(ValueLayout.JAVA_BYTE, offset + i) != FRESH) {
                throw new AssertionError(
                        "byte " + (offset + i) + " of memory that nothing was to be written to is changed");
            }
        }
    }

    void assertFresh() {
        assertFresh(0, inner.byteSize());
    }

    void assertGuards() {
        if (memory != null) {
            memory.check();
        }
    }

    @Override
    public void close() {
        region.close();
    }
}

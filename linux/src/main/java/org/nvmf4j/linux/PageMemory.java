package org.nvmf4j.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Page-aligned memory for buffers, taken from the system page by page as it is touched, so that a large buffer costs
 * nothing before its use and, unlike {@link Arena#allocate(long)}, nothing to zero.
 */
public final class PageMemory {
    private static final long PAGE_BYTES = 4096;
    private static final long HUGE_PAGE_BYTES = 2L << 20;
    private static final int MADV_HUGEPAGE = 14;

    private PageMemory() {}

    /**
     * Zeroed memory that lives as long as the arena. From 2 MiB on the kernel is asked to back it with huge pages.
     * Where native calls are not possible the arena's own memory is used.
     *
     * @param arena of any kind
     * @param lengthBytes positive
     * @throws OutOfMemoryError if the system refuses
     */
    public static MemorySegment allocate(Arena arena, long lengthBytes) {
        if (lengthBytes <= 0) {
            throw new IllegalArgumentException("cannot allocate " + lengthBytes + " bytes");
        }
        return NativeAccess.isAvailable() ? map(arena, lengthBytes) : arena.allocate(lengthBytes, PAGE_BYTES);
    }

    private static MemorySegment map(Arena arena, long lengthBytes) {
        MemorySegment errnoState = LibC.newErrnoState();
        boolean huge = lengthBytes >= HUGE_PAGE_BYTES;
        // The kernel aligns to small pages only; a margin lets the start move up to a huge page's boundary.
        long mappedBytes = huge ? Math.addExact(lengthBytes, HUGE_PAGE_BYTES) : lengthBytes;
        long mapped = LibC.mmapAnonymous(errnoState, mappedBytes);
        if (mapped < 0) {
            throw new OutOfMemoryError("mmap of " + mappedBytes + " bytes: " + SystemErrors.describe((int) -mapped));
        }
        long start = huge ? mapped + HUGE_PAGE_BYTES - 1 & -HUGE_PAGE_BYTES : mapped;
        if (huge) {
            // Advice only: kernels without huge pages refuse it, and small pages serve as well.
            var _ = LibC.madvise(errnoState, start, lengthBytes, MADV_HUGEPAGE);
        }
        return MemorySegment.ofAddress(start)
                .reinterpret(lengthBytes, arena, memory -> LibC.munmap(LibC.newErrnoState(), mapped, mappedBytes));
    }
}

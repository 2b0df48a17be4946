package org.nvmf4j.verbs;

import java.lang.foreign.MemorySegment;

/**
 * How to touch memory that may be taken away, which {@link AccessFlag#ON_DEMAND} is for: a mapped file that someone truncates, or a
 * device that is unplugged. By this copy alone: elsewhere the fault may be told where nobody expects it, or end the process, as it
 * does in CRC32.
 */
public final class OnDemandMemory {
    private static final Object NOBODYS_LOCK = new Object();

    private OnDemandMemory() {}

    /**
     * Copies as {@link MemorySegment#copy(MemorySegment, long, MemorySegment, long, long)} does.
     *
     * @return false if memory of either side is gone; what the target then holds means nothing
     */
    public static boolean copy(
            MemorySegment source, long sourceOffset, MemorySegment target, long targetOffset, long lengthBytes) {
        try {
            MemorySegment.copy(source, sourceOffset, target, targetOffset, lengthBytes);
            // The JVM only notes the fault and throws at some later safepoint, which in code compiled by C2 was outside
            // every handler nearby. A native method does not return without throwing it; this one takes 30 ns.
            boolean _ = Thread.holdsLock(NOBODYS_LOCK);
            return true;
        } catch (InternalError e) {
            return false;
        }
    }
}

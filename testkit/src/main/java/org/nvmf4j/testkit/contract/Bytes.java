package org.nvmf4j.testkit.contract;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Numbers in memory. */
final class Bytes {
    private Bytes() {}

    static void putLong(MemorySegment memory, long offset, long value) {
        memory.set(ValueLayout.JAVA_LONG_UNALIGNED, offset, value);
    }

    static long getLong(MemorySegment memory, long offset) {
        return memory.get(ValueLayout.JAVA_LONG_UNALIGNED, offset);
    }

    static void putInt(MemorySegment memory, long offset, int value) {
        memory.set(ValueLayout.JAVA_INT_UNALIGNED, offset, value);
    }

    static int getInt(MemorySegment memory, long offset) {
        return memory.get(ValueLayout.JAVA_INT_UNALIGNED, offset);
    }
}

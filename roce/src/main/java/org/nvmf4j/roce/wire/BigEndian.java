package org.nvmf4j.roce.wire;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** Unaligned big-endian access, the byte order of every InfiniBand header. */
final class BigEndian {
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private BigEndian() {}

    static int getByte(MemorySegment m, long offset) {
        return m.get(ValueLayout.JAVA_BYTE, offset) & 0xFF;
    }

    static void putByte(MemorySegment m, long offset, int value) {
        m.set(ValueLayout.JAVA_BYTE, offset, (byte) value);
    }

    static int getShort(MemorySegment m, long offset) {
        return m.get(SHORT, offset) & 0xFFFF;
    }

    static void putShort(MemorySegment m, long offset, int value) {
        m.set(SHORT, offset, (short) value);
    }

    static int getInt(MemorySegment m, long offset) {
        return m.get(INT, offset);
    }

    static void putInt(MemorySegment m, long offset, int value) {
        m.set(INT, offset, value);
    }

    static long getLong(MemorySegment m, long offset) {
        return m.get(LONG, offset);
    }

    static void putLong(MemorySegment m, long offset, long value) {
        m.set(LONG, offset, value);
    }

    /** Replaces the low 24 bits of the word at {@code offset}, keeping its first byte. */
    static void putLow24(MemorySegment m, long offset, int value) {
        putInt(m, offset, (getInt(m, offset) & 0xFF00_0000) | (value & 0xFF_FFFF));
    }
}

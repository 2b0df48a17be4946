package org.nvmf4j.nvme;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.UUID;

/** Layouts and accessors that every structure here shares: little-endian, at any alignment. */
final class Bytes {
    static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;
    static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    /** UUID, NGUID and EUI-64 are byte strings, most significant byte first. */
    static final ValueLayout.OfLong BIG_ENDIAN_LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private Bytes() {}

    static int u8(MemorySegment segment, long offset) {
        return segment.get(BYTE, offset) & 0xff;
    }

    static void u8(MemorySegment segment, long offset, int value) {
        segment.set(BYTE, offset, (byte) value);
    }

    static int u16(MemorySegment segment, long offset) {
        return segment.get(SHORT, offset) & 0xffff;
    }

    static void u16(MemorySegment segment, long offset, int value) {
        segment.set(SHORT, offset, (short) value);
    }

    static int u32(MemorySegment segment, long offset) {
        return segment.get(INT, offset);
    }

    static void u32(MemorySegment segment, long offset, int value) {
        segment.set(INT, offset, value);
    }

    static long u64(MemorySegment segment, long offset) {
        return segment.get(LONG, offset);
    }

    static void u64(MemorySegment segment, long offset, long value) {
        segment.set(LONG, offset, value);
    }

    static UUID uuid(MemorySegment segment, long offset) {
        return new UUID(segment.get(BIG_ENDIAN_LONG, offset), segment.get(BIG_ENDIAN_LONG, offset + 8));
    }

    static void uuid(MemorySegment segment, long offset, UUID value) {
        segment.set(BIG_ENDIAN_LONG, offset, value.getMostSignificantBits());
        segment.set(BIG_ENDIAN_LONG, offset + 8, value.getLeastSignificantBits());
    }

    /** Clears with stores instead of a slice and fill, which would allocate on the I/O path. */
    static void clear64(MemorySegment segment, long offset) {
        for (long at = offset; at < offset + 64; at += Long.BYTES) {
            segment.set(LONG, at, 0);
        }
    }

    /**
     * The text before the first NUL, without trailing spaces. Bytes that are not UTF-8 and control characters become U+FFFD, so
     * that a peer's text can neither pass for another nor reach a terminal as an escape sequence.
     */
    static String text(MemorySegment segment, long offset, int length) {
        byte[] bytes = segment.asSlice(offset, length).toArray(BYTE);
        int end = 0;
        while (end < length && bytes[end] != 0) {
            end++;
        }
        while (end > 0 && bytes[end - 1] == ' ') {
            end--;
        }
        StringBuilder text = new StringBuilder(new String(bytes, 0, end, UTF_8));
        for (int i = 0; i < text.length(); i++) {
            if (Character.isISOControl(text.charAt(i))) {
                text.setCharAt(i, '\ufffd');
            }
        }
        return text.toString();
    }

    /** Writes text padded with {@code pad}; refuses what does not fit. */
    static void text(MemorySegment segment, long offset, int length, String value, char pad) {
        byte[] bytes = value.getBytes(UTF_8);
        if (bytes.length > length) {
            throw new IllegalArgumentException(
                    "\"" + value + "\" has " + bytes.length + " bytes, at most " + length + " fit");
        }
        MemorySegment field = segment.asSlice(offset, length).fill((byte) pad);
        MemorySegment.copy(bytes, 0, field, BYTE, 0, bytes.length);
    }
}

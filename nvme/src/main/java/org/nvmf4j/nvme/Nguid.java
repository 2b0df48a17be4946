package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;
import java.util.Locale;

/**
 * A namespace globally unique identifier: 16 bytes, the first the most significant. {@link #NONE} says that there is none.
 *
 * @param high the first 8 bytes
 * @param low the last 8 bytes
 */
public record Nguid(long high, long low) {
    public static final int SIZE_BYTES = 16;
    public static final Nguid NONE = new Nguid(0, 0);

    static Nguid parse(MemorySegment segment, long offset) {
        return new Nguid(
                segment.get(Bytes.BIG_ENDIAN_LONG, offset), segment.get(Bytes.BIG_ENDIAN_LONG, offset + Long.BYTES));
    }

    void write(MemorySegment segment, long offset) {
        segment.set(Bytes.BIG_ENDIAN_LONG, offset, high);
        segment.set(Bytes.BIG_ENDIAN_LONG, offset + Long.BYTES, low);
    }

    /** 32 hexadecimal digits, as nvme-cli prints it. */
    @Override
    public String toString() {
        return String.format(Locale.ROOT, "%016x%016x", high, low);
    }
}

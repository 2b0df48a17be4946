package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;
import java.util.UUID;

/**
 * A fixed-size structure that is filled or looked at rarely: a copy of its bytes, with an accessor for each field. Fields without an
 * accessor survive from {@code parse} to {@link #write}. Not safe for use by several threads.
 */
abstract class DataStructure {
    private final MemorySegment data;

    /** All zeroes. */
    DataStructure(int sizeBytes) {
        data = MemorySegment.ofArray(new byte[sizeBytes]);
    }

    /** A copy of what is in the segment. */
    DataStructure(int sizeBytes, MemorySegment segment, long offset) {
        this(sizeBytes);
        MemorySegment.copy(segment, offset, data, 0, sizeBytes);
    }

    /**
     * Writes the whole structure.
     *
     * @throws IndexOutOfBoundsException if it does not fit
     */
    public final void write(MemorySegment segment, long offset) {
        MemorySegment.copy(data, 0, segment, offset, data.byteSize());
    }

    final int u8(int at) {
        return Bytes.u8(data, at);
    }

    final void u8(int at, int value) {
        Bytes.u8(data, at, value);
    }

    final int u16(int at) {
        return Bytes.u16(data, at);
    }

    final void u16(int at, int value) {
        Bytes.u16(data, at, value);
    }

    final int u32(int at) {
        return Bytes.u32(data, at);
    }

    final void u32(int at, int value) {
        Bytes.u32(data, at, value);
    }

    final long u64(int at) {
        return Bytes.u64(data, at);
    }

    final void u64(int at, long value) {
        Bytes.u64(data, at, value);
    }

    /** A 128-bit counter, or 2^64 - 1 if it is larger. */
    final long u128(int at) {
        return Bytes.u64(data, at + Long.BYTES) == 0 ? Bytes.u64(data, at) : -1;
    }

    final void u128(int at, long value) {
        Bytes.u64(data, at, value);
        Bytes.u64(data, at + Long.BYTES, 0);
    }

    final String text(int at, int length) {
        return Bytes.text(data, at, length);
    }

    final void text(int at, int length, String value, char pad) {
        Bytes.text(data, at, length, value, pad);
    }

    final Nguid nguid(int at) {
        return Nguid.parse(data, at);
    }

    final void nguid(int at, Nguid value) {
        value.write(data, at);
    }

    final UUID uuid(int at) {
        return Bytes.uuid(data, at);
    }

    final void uuid(int at, UUID value) {
        Bytes.uuid(data, at, value);
    }

    final long bigEndianLong(int at) {
        return data.get(Bytes.BIG_ENDIAN_LONG, at);
    }

    final void bigEndianLong(int at, long value) {
        data.set(Bytes.BIG_ENDIAN_LONG, at, value);
    }
}

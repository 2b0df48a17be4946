package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;

/**
 * Entry of the Error Information log page (NVMe Base 2.0). Setters return this structure.
 *
 * <p>Not safe for use by several threads.
 */
public final class ErrorLogEntry extends DataStructure {
    public static final int SIZE_BYTES = 64;

    private static final int STATUS = 12;

    /** All zeroes. */
    public ErrorLogEntry() {
        super(SIZE_BYTES);
    }

    private ErrorLogEntry(MemorySegment segment, long offset) {
        super(SIZE_BYTES, segment, offset);
    }

    /**
     * A copy of {@value #SIZE_BYTES} bytes; every content is accepted.
     *
     * @throws IndexOutOfBoundsException if the segment ends before
     */
    public static ErrorLogEntry parse(MemorySegment segment, long offset) {
        return new ErrorLogEntry(segment, offset);
    }

    /** Which error of the controller this is, from 1; 0 means that the entry is not used. */
    public long errorCount() {
        return u64(0);
    }

    public ErrorLogEntry errorCount(long value) {
        u64(0, value);
        return this;
    }

    /** Queue of the command. */
    public int sqid() {
        return u16(8);
    }

    public ErrorLogEntry sqid(int value) {
        u16(8, value);
        return this;
    }

    /** Command ID of the command. */
    public int commandId() {
        return u16(10);
    }

    public ErrorLogEntry commandId(int value) {
        u16(10, value);
        return this;
    }

    /** Where in the command: byte in bits 7:0, bit in bits 10:8; 0xffff if it is not about a parameter. */
    public int parameterErrorLocation() {
        return u16(14);
    }

    public ErrorLogEntry parameterErrorLocation(int value) {
        u16(14, value);
        return this;
    }

    /** First logical block with the error. */
    public long lba() {
        return u64(16);
    }

    public ErrorLogEntry lba(long value) {
        u64(16, value);
        return this;
    }

    /** Namespace. */
    public int nsid() {
        return u32(24);
    }

    public ErrorLogEntry nsid(int value) {
        u32(24, value);
        return this;
    }

    /** Log page with vendor specific information; 0 for none. */
    public int vendorSpecific() {
        return u8(28);
    }

    public ErrorLogEntry vendorSpecific(int value) {
        u8(28, value);
        return this;
    }

    /** Transport type, see {@link DiscoveryLogEntry}. */
    public int trtype() {
        return u8(29);
    }

    public ErrorLogEntry trtype(int value) {
        u8(29, value);
        return this;
    }

    /** Command specific information. */
    public long commandSpecific() {
        return u64(32);
    }

    public ErrorLogEntry commandSpecific(long value) {
        u64(32, value);
        return this;
    }

    /** Transport type specific information. */
    public int transportSpecific() {
        return u16(40);
    }

    public ErrorLogEntry transportSpecific(int value) {
        u16(40, value);
        return this;
    }

    /** Status that the command completed with, see {@link NvmeStatus}. */
    public int status() {
        return u16(STATUS) >>> 1;
    }

    public ErrorLogEntry status(int value) {
        u16(STATUS, value << 1);
        return this;
    }
}

package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;

/**
 * A completion: the 16-byte completion queue entry that is a response capsule, read and written in place (NVMe Base 2.0, section
 * 3.3.3.2). {@code offset} is where the entry begins; nothing is allocated. The phase tag is zero on a fabric and ignored.
 */
public final class CompletionQueueEntry {
    public static final int SIZE_BYTES = 16;

    private static final int RESULT = 0;
    private static final int SQ_HEAD = 8;
    private static final int SQ_ID = 10;
    private static final int COMMAND_ID = 12;
    private static final int STATUS = 14;

    private CompletionQueueEntry() {}

    /**
     * Writes all 16 bytes.
     *
     * @param result dword 0 in the low half, dword 1 in the high half
     * @param status see {@link NvmeStatus}
     */
    public static void write(
            MemorySegment segment, long offset, long result, int sqHead, int sqId, int commandId, int status) {
        Bytes.u64(segment, offset + RESULT, result);
        Bytes.u32(segment, offset + SQ_HEAD, (sqHead & 0xffff) | sqId << 16);
        Bytes.u32(segment, offset + COMMAND_ID, (commandId & 0xffff) | status << 17);
    }

    /** Dwords 0 and 1, the value of a Property Get. */
    public static long result(MemorySegment segment, long offset) {
        return Bytes.u64(segment, offset + RESULT);
    }

    public static void result(MemorySegment segment, long offset, long value) {
        Bytes.u64(segment, offset + RESULT, value);
    }

    /** Dword 0, the command-specific result. */
    public static int dword0(MemorySegment segment, long offset) {
        return Bytes.u32(segment, offset + RESULT);
    }

    /** Submission queue head pointer, modulo the queue size; 0xffff when submission queue flow control is off. */
    public static int sqHead(MemorySegment segment, long offset) {
        return Bytes.u16(segment, offset + SQ_HEAD);
    }

    public static void sqHead(MemorySegment segment, long offset, int value) {
        Bytes.u16(segment, offset + SQ_HEAD, value);
    }

    public static int sqId(MemorySegment segment, long offset) {
        return Bytes.u16(segment, offset + SQ_ID);
    }

    public static void sqId(MemorySegment segment, long offset, int value) {
        Bytes.u16(segment, offset + SQ_ID, value);
    }

    public static int commandId(MemorySegment segment, long offset) {
        return Bytes.u16(segment, offset + COMMAND_ID);
    }

    public static void commandId(MemorySegment segment, long offset, int value) {
        Bytes.u16(segment, offset + COMMAND_ID, value);
    }

    /** Over PCIe: the phase tag, which turns with each round of the queue. */
    public static boolean phase(MemorySegment segment, long offset) {
        return (Bytes.u16(segment, offset + STATUS) & 1) != 0;
    }

    /** Over PCIe: sets the phase tag, which makes the entry valid; after all else has been written. */
    public static void phase(MemorySegment segment, long offset, boolean value) {
        int status = Bytes.u16(segment, offset + STATUS);
        Bytes.u16(segment, offset + STATUS, value ? status | 1 : status & ~1);
    }

    /** The 15-bit status field without the phase tag, in the form that {@link NvmeStatus} reads. */
    public static int status(MemorySegment segment, long offset) {
        return Bytes.u16(segment, offset + STATUS) >>> 1;
    }

    public static void status(MemorySegment segment, long offset, int value) {
        Bytes.u16(segment, offset + STATUS, value << 1);
    }
}

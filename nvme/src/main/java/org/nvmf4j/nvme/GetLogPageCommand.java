package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;

/**
 * Fields of Get Log Page (NVMe Base 2.0, section 5.16), read and written in place; {@code offset} is where the submission queue entry
 * begins.
 */
public final class GetLogPageCommand {
    private static final int LID = 40;
    private static final int LSP_RAE = 41;
    private static final int NUMDL = 42;
    private static final int NUMDU = 44;
    private static final int LSI = 46;
    private static final int LPO = 48;
    private static final int UIDX = 56;
    private static final int OT_BYTE = 58;
    private static final int CSI = 59;
    private static final int RAE = 0x80;
    private static final int OT = 0x80;

    private GetLogPageCommand() {}

    /**
     * Writes the whole entry but for the data pointer.
     *
     * @param lid see {@link LogPage}
     * @param rae retain asynchronous event: leave the event that this log page belongs to masked
     * @param lpo where to begin in the log page, in bytes, a multiple of 4
     * @param lengthBytes how much, a multiple of 4 above 0
     */
    public static void write(
            MemorySegment segment,
            long offset,
            int commandId,
            int nsid,
            int lid,
            boolean rae,
            long lpo,
            int lengthBytes) {
        if (lengthBytes <= 0 || (lengthBytes & 3) != 0 || (lpo & 3) != 0) {
            throw new IllegalArgumentException(
                    "length " + lengthBytes + " and offset " + lpo + " of a log page are not multiples of 4");
        }
        SubmissionQueueEntry.write(segment, offset, AdminOpcode.GET_LOG_PAGE, commandId, nsid);
        int numdZeroBased = lengthBytes / 4 - 1;
        Bytes.u8(segment, offset + LID, lid);
        Bytes.u8(segment, offset + LSP_RAE, rae ? RAE : 0);
        Bytes.u16(segment, offset + NUMDL, numdZeroBased);
        Bytes.u16(segment, offset + NUMDU, numdZeroBased >>> 16);
        Bytes.u64(segment, offset + LPO, lpo);
    }

    /** Log page identifier, see {@link LogPage}. */
    public static int lid(MemorySegment segment, long offset) {
        return Bytes.u8(segment, offset + LID);
    }

    /** Log specific parameter, 7 bits. */
    public static int lsp(MemorySegment segment, long offset) {
        return Bytes.u8(segment, offset + LSP_RAE) & 0x7f;
    }

    /** Sets the log specific parameter, for instance 1 of an ANA log without namespace lists. */
    public static void lsp(MemorySegment segment, long offset, int value) {
        Bytes.u8(segment, offset + LSP_RAE, (Bytes.u8(segment, offset + LSP_RAE) & RAE) | (value & 0x7f));
    }

    /** Retain asynchronous event. */
    public static boolean rae(MemorySegment segment, long offset) {
        return (Bytes.u8(segment, offset + LSP_RAE) & RAE) != 0;
    }

    /** How much is asked for, in bytes: 4 to 2^34. */
    public static long lengthBytes(MemorySegment segment, long offset) {
        long numdZeroBased = Bytes.u16(segment, offset + NUMDL) | (long) Bytes.u16(segment, offset + NUMDU) << 16;
        return (numdZeroBased + 1) * 4;
    }

    /** Log specific identifier. */
    public static int lsi(MemorySegment segment, long offset) {
        return Bytes.u16(segment, offset + LSI);
    }

    /** Log page offset, unsigned: in bytes unless {@link #isIndexOffset}. */
    public static long lpo(MemorySegment segment, long offset) {
        return Bytes.u64(segment, offset + LPO);
    }

    /** OT: the offset is an index into a list of data structures. */
    public static boolean isIndexOffset(MemorySegment segment, long offset) {
        return (Bytes.u8(segment, offset + OT_BYTE) & OT) != 0;
    }

    /** UUID index. */
    public static int uidx(MemorySegment segment, long offset) {
        return Bytes.u8(segment, offset + UIDX) & 0x7f;
    }

    /** I/O command set identifier. */
    public static int csi(MemorySegment segment, long offset) {
        return Bytes.u8(segment, offset + CSI);
    }
}

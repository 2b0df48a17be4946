package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;

/**
 * Fields of Identify (NVMe Base 2.0, section 5.17), read and written in place; {@code offset} is where the submission queue entry
 * begins.
 */
public final class IdentifyCommand {
    private static final int CNS = 40;
    private static final int CNTID = 42;
    private static final int CNS_SPECIFIC = 44;
    private static final int CSI = 47;
    private static final int UIDX = 56;

    private IdentifyCommand() {}

    /**
     * Writes the whole entry but for the data pointer.
     *
     * @param cns see {@link Cns}
     * @param csi I/O command set, {@link Cns#CSI_NVM} where it does not matter
     */
    public static void write(MemorySegment segment, long offset, int commandId, int nsid, int cns, int csi) {
        SubmissionQueueEntry.write(segment, offset, AdminOpcode.IDENTIFY, commandId, nsid);
        Bytes.u8(segment, offset + CNS, cns);
        Bytes.u8(segment, offset + CSI, csi);
    }

    /** See {@link Cns}. */
    public static int cns(MemorySegment segment, long offset) {
        return Bytes.u8(segment, offset + CNS);
    }

    /** Controller id, for the CNS values that take one. */
    public static int cntid(MemorySegment segment, long offset) {
        return Bytes.u16(segment, offset + CNTID);
    }

    /** CNS specific identifier. */
    public static int cnsSpecific(MemorySegment segment, long offset) {
        return Bytes.u16(segment, offset + CNS_SPECIFIC);
    }

    /** I/O command set identifier. */
    public static int csi(MemorySegment segment, long offset) {
        return Bytes.u8(segment, offset + CSI);
    }

    /** UUID index. */
    public static int uidx(MemorySegment segment, long offset) {
        return Bytes.u8(segment, offset + UIDX) & 0x7f;
    }
}

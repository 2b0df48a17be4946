package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;

/**
 * Fields of Abort (NVMe Base 2.0, section 5.1), read and written in place; {@code offset} is where the submission queue entry begins.
 */
public final class AbortCommand {
    private static final int SQID = 40;
    private static final int CID = 42;

    private AbortCommand() {}

    /** Writes a whole Abort of one command, which its queue and its command id name together. */
    public static void write(MemorySegment segment, long offset, int commandId, int sqid, int cid) {
        SubmissionQueueEntry.write(segment, offset, AdminOpcode.ABORT, commandId, 0);
        Bytes.u16(segment, offset + SQID, sqid);
        Bytes.u16(segment, offset + CID, cid);
    }

    /** The queue of the command to abort. */
    public static int sqid(MemorySegment segment, long offset) {
        return Bytes.u16(segment, offset + SQID);
    }

    /** The command to abort. */
    public static int cid(MemorySegment segment, long offset) {
        return Bytes.u16(segment, offset + CID);
    }

    /** Whether the command was aborted: bit 0 of the result is 1 if it was <em>not</em>. */
    public static boolean aborted(int result) {
        return (result & 1) == 0;
    }

    /** The result that says whether the command was aborted. */
    public static int result(boolean aborted) {
        return aborted ? 0 : 1;
    }
}

package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;

/**
 * Fields of Read, Write, Compare, Verify, Write Uncorrectable and Write Zeroes, which share them (NVM Command Set 1.0, section 3.2),
 * read and written in place; {@code offset} is where the submission queue entry begins. Nothing is allocated.
 */
public final class ReadWriteCommand {
    /** The most that one command addresses. */
    public static final int MAX_BLOCKS = 0x1_0000;

    private static final int SLBA = 40;
    private static final int NLB = 48;
    private static final int CONTROL = 50;
    private static final int CONTROL_FUA = 1 << 14;
    private static final int CONTROL_LR = 1 << 15;
    private static final int CONTROL_DEAC = 1 << 9;
    private static final int CONTROL_PRINFO = 0xf << 10;

    private ReadWriteCommand() {}

    /**
     * Writes the whole entry but for the data pointer, which says that there is no data.
     *
     * @param opcode {@link IoOpcode#READ}, {@link IoOpcode#WRITE} or another of those that have these fields
     * @param slba first logical block, unsigned
     * @param blocks 1 to {@link #MAX_BLOCKS}
     * @param fua force unit access: complete when the data is on the medium
     */
    public static void write(
            MemorySegment segment,
            long offset,
            int opcode,
            int commandId,
            int nsid,
            long slba,
            int blocks,
            boolean fua) {
        assert blocks >= 1 && blocks <= MAX_BLOCKS : blocks;
        SubmissionQueueEntry.write(segment, offset, opcode, commandId, nsid);
        Bytes.u64(segment, offset + SLBA, slba);
        Bytes.u32(segment, offset + NLB, blocks - 1 | (fua ? CONTROL_FUA << 16 : 0));
    }

    /** Starting LBA, unsigned. */
    public static long slba(MemorySegment segment, long offset) {
        return Bytes.u64(segment, offset + SLBA);
    }

    /** NLB as it is on the wire: logical blocks less one. */
    public static int nlbZeroBased(MemorySegment segment, long offset) {
        return Bytes.u16(segment, offset + NLB);
    }

    /** Logical blocks, 1 to {@link #MAX_BLOCKS}. */
    public static int blocks(MemorySegment segment, long offset) {
        return nlbZeroBased(segment, offset) + 1;
    }

    /** Force unit access. */
    public static boolean fua(MemorySegment segment, long offset) {
        return (control(segment, offset) & CONTROL_FUA) != 0;
    }

    /** Limited retry. */
    public static boolean limitedRetry(MemorySegment segment, long offset) {
        return (control(segment, offset) & CONTROL_LR) != 0;
    }

    /** Of Write Zeroes: deallocate the blocks if that leaves them zero. */
    public static boolean deallocate(MemorySegment segment, long offset) {
        return (control(segment, offset) & CONTROL_DEAC) != 0;
    }

    /** Asks a Write Zeroes to deallocate. */
    public static void deallocate(MemorySegment segment, long offset, boolean value) {
        int control = control(segment, offset);
        Bytes.u16(segment, offset + CONTROL, value ? control | CONTROL_DEAC : control & ~CONTROL_DEAC);
    }

    /** PRINFO: protection information action and checks; 0 without protection information. */
    public static int prinfo(MemorySegment segment, long offset) {
        return (control(segment, offset) & CONTROL_PRINFO) >>> 10;
    }

    /**
     * Whether the blocks lie within a namespace, for any values of the command.
     *
     * @param nsze size of the namespace in logical blocks, not negative
     */
    public static boolean isInRange(MemorySegment segment, long offset, long nsze) {
        long slba = slba(segment, offset);
        return slba >= 0 && slba <= nsze && blocks(segment, offset) <= nsze - slba;
    }

    private static int control(MemorySegment segment, long offset) {
        return Bytes.u16(segment, offset + CONTROL);
    }
}

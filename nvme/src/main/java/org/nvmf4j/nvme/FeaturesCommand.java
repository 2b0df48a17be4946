package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;

/**
 * Fields of Set Features and Get Features (NVMe Base 2.0, sections 5.27 and 5.15), read and written in place; {@code offset} is where
 * the submission queue entry begins. A feature's value is dword 11 of Set Features and dword 0 of Get Features' completion.
 */
public final class FeaturesCommand {
    /** Get Features: the current value. */
    public static final int SELECT_CURRENT = 0;

    public static final int SELECT_DEFAULT = 1;
    public static final int SELECT_SAVED = 2;
    public static final int SELECT_SUPPORTED_CAPABILITIES = 3;

    private static final int SAVE = 1 << 31;

    private FeaturesCommand() {}

    /**
     * Writes a whole Set Features without data.
     *
     * @param fid see {@link Feature}
     */
    public static void writeSet(MemorySegment segment, long offset, int commandId, int nsid, int fid, int value) {
        SubmissionQueueEntry.write(segment, offset, AdminOpcode.SET_FEATURES, commandId, nsid);
        SubmissionQueueEntry.cdw10(segment, offset, fid & 0xff);
        SubmissionQueueEntry.cdw11(segment, offset, value);
    }

    /** Writes a whole Get Features without data. */
    public static void writeGet(MemorySegment segment, long offset, int commandId, int nsid, int fid, int select) {
        SubmissionQueueEntry.write(segment, offset, AdminOpcode.GET_FEATURES, commandId, nsid);
        SubmissionQueueEntry.cdw10(segment, offset, (fid & 0xff) | (select & 7) << 8);
    }

    /** Feature identifier, see {@link Feature}. */
    public static int fid(MemorySegment segment, long offset) {
        return SubmissionQueueEntry.cdw10(segment, offset) & 0xff;
    }

    /** Of Get Features: which value. */
    public static int select(MemorySegment segment, long offset) {
        return SubmissionQueueEntry.cdw10(segment, offset) >>> 8 & 7;
    }

    /** Of Set Features: whether the value is to survive a reset. */
    public static boolean save(MemorySegment segment, long offset) {
        return (SubmissionQueueEntry.cdw10(segment, offset) & SAVE) != 0;
    }

    /** Of Set Features: the value. */
    public static int value(MemorySegment segment, long offset) {
        return SubmissionQueueEntry.cdw11(segment, offset);
    }

    /**
     * A value of {@link Feature#NUMBER_OF_QUEUES}, as asked for and as granted; on the wire both are less one.
     *
     * @param submissionQueues 1 to 65,535
     * @param completionQueues 1 to 65,535
     */
    public static int numberOfQueues(int submissionQueues, int completionQueues) {
        if (submissionQueues < 1 || submissionQueues > 0xffff || completionQueues < 1 || completionQueues > 0xffff) {
            throw new IllegalArgumentException(
                    submissionQueues + " submission and " + completionQueues + " completion queues: 1 to 65535 each");
        }
        return (submissionQueues - 1) | (completionQueues - 1) << 16;
    }

    /** I/O submission queues in a value of {@link Feature#NUMBER_OF_QUEUES}, 1 to 65,536. */
    public static int submissionQueues(int value) {
        return (value & 0xffff) + 1;
    }

    /** I/O completion queues in a value of {@link Feature#NUMBER_OF_QUEUES}, 1 to 65,536. */
    public static int completionQueues(int value) {
        return (value >>> 16) + 1;
    }
}

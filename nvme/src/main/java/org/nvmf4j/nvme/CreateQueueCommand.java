package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;

/**
 * Fields of the commands that create and delete I/O queues over PCIe (NVMe Base 2.0, sections 5.4, 5.5, 5.6 and 5.7), read and written in
 * place; {@code offset} is where the submission queue entry begins.
 */
public final class CreateQueueCommand {
    private static final int PHYSICALLY_CONTIGUOUS = 1;
    private static final int INTERRUPTS_ENABLED = 1 << 1;

    private CreateQueueCommand() {}

    /**
     * Writes a whole Create I/O Completion Queue, of a contiguous queue.
     *
     * @param vector its interrupt vector, or -1 for none
     */
    public static void writeCompletionQueue(
            MemorySegment segment, long offset, int commandId, int qid, int entries, long address, int vector) {
        SubmissionQueueEntry.write(segment, offset, AdminOpcode.CREATE_IO_CQ, commandId, 0);
        SubmissionQueueEntry.prp(segment, offset, address, 0);
        SubmissionQueueEntry.cdw10(segment, offset, qid | (entries - 1) << 16);
        int interrupt = vector < 0 ? 0 : INTERRUPTS_ENABLED | vector << 16;
        SubmissionQueueEntry.cdw11(segment, offset, PHYSICALLY_CONTIGUOUS | interrupt);
    }

    /** Writes a whole Create I/O Submission Queue, of a contiguous queue whose completions go to the completion queue of the same number. */
    public static void writeSubmissionQueue(
            MemorySegment segment, long offset, int commandId, int qid, int entries, long address) {
        SubmissionQueueEntry.write(segment, offset, AdminOpcode.CREATE_IO_SQ, commandId, 0);
        SubmissionQueueEntry.prp(segment, offset, address, 0);
        SubmissionQueueEntry.cdw10(segment, offset, qid | (entries - 1) << 16);
        SubmissionQueueEntry.cdw11(segment, offset, PHYSICALLY_CONTIGUOUS | qid << 16);
    }

    /**
     * Writes a whole Delete I/O Submission Queue or Completion Queue; the submission queue goes first.
     *
     * @param opcode {@link AdminOpcode#DELETE_IO_SQ} or {@link AdminOpcode#DELETE_IO_CQ}
     */
    public static void writeDelete(MemorySegment segment, long offset, int opcode, int commandId, int qid) {
        SubmissionQueueEntry.write(segment, offset, opcode, commandId, 0);
        SubmissionQueueEntry.prp(segment, offset, 0, 0);
        SubmissionQueueEntry.cdw10(segment, offset, qid);
    }

    /** The queue's number, of all four commands. */
    public static int qid(MemorySegment segment, long offset) {
        return SubmissionQueueEntry.cdw10(segment, offset) & 0xffff;
    }

    /** The queue's entries. */
    public static int entries(MemorySegment segment, long offset) {
        return (SubmissionQueueEntry.cdw10(segment, offset) >>> 16) + 1;
    }

    /** Of a submission queue: the number of its completion queue. */
    public static int completionQid(MemorySegment segment, long offset) {
        return SubmissionQueueEntry.cdw11(segment, offset) >>> 16;
    }
}

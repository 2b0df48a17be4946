package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.CompletionQueueEntry;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.CreateQueueCommand;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.SglDescriptor;
import org.nvmf4j.nvme.SubmissionQueueEntry;

/**
 * A submission queue with a completion queue of its own. Each command has a slot, whose number is its command identifier, from {@link
 * #take} until {@link Handler#ended}; there are one less than entries, so that neither queue can overflow. One thread; nothing is
 * allocated per command. Submissions that lie in the controller's memory buffer are copied there from host memory.
 */
public final class NvmeQueue implements AutoCloseable {
    static final int PAGE_BYTES = 4096;
    /** As much as one page of a PRP list names. */
    static final long MAX_LISTED_BYTES = (long) (PAGE_BYTES / Long.BYTES) * PAGE_BYTES;

    private static final ValueLayout.OfLong PRP = ValueLayout.JAVA_LONG.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final long NO_DEADLINE = Long.MAX_VALUE;

    /** Hears of the end of commands. */
    public interface Handler {
        /**
         * A command has ended, and its slot is free.
         *
         * @param status see {@link NvmeStatus}
         * @param result dword 0 of the completion
         */
        void ended(int slot, int status, int result);
    }

    private final NvmeRegisters registers;
    private final int qid;
    private final int entries;
    private final int submissionDoorbell;
    private final int completionDoorbell;
    private final DmaMemory submissions;
    /** Where the controller has the submissions, if that is not where they are written. */
    private final CmbQueues.@Nullable Place place;

    private final DmaMemory completions;
    /** A page for a PRP list of each slot; null where SGLs take their place. */
    private final @Nullable DmaMemory lists;

    private final int[] free;
    private final long[] deadlines;
    private final boolean[] outstanding;
    private int freeCount;
    private int tail;
    private int rungTail;
    private int head;
    private boolean phase;

    /**
     * Memory for a queue that the controller does not know yet.
     *
     * @param cap the controller's CAP
     * @param entries 2 to 4096
     * @param sgls whether the controller takes SGLs in commands of this queue
     * @param place for the submissions in the controller's memory buffer, or null
     * @throws IOException if there is no memory
     */
    NvmeQueue(
            NvmeRegisters registers,
            long cap,
            DmaAllocator dma,
            int qid,
            int entries,
            boolean sgls,
            CmbQueues.@Nullable Place place)
            throws IOException {
        this.registers = registers;
        this.place = place;
        this.qid = qid;
        this.entries = entries;
        submissionDoorbell = ControllerProperties.doorbell(cap, qid, false);
        completionDoorbell = ControllerProperties.doorbell(cap, qid, true);
        free = new int[entries - 1];
        deadlines = new long[entries - 1];
        outstanding = new boolean[entries - 1];
        DmaMemory[] made = new DmaMemory[3];
        try {
            made[0] = dma.allocate((long) entries * SubmissionQueueEntry.SIZE_BYTES);
            made[1] = dma.allocate((long) entries * CompletionQueueEntry.SIZE_BYTES);
            made[2] = sgls ? null : dma.allocate((long) (entries - 1) * PAGE_BYTES);
        } catch (IOException e) {
            for (DmaMemory memory : made) {
                if (memory != null) {
                    memory.close();
                }
            }
            throw e;
        }
        submissions = made[0];
        completions = made[1];
        lists = made[2];
        clear();
    }

    /** As new; the controller must have forgotten the queue. */
    void clear() {
        completions.segment().fill((byte) 0);
        Arrays.fill(deadlines, NO_DEADLINE);
        Arrays.fill(outstanding, false);
        for (int i = 0; i < free.length; i++) {
            free[i] = free.length - 1 - i;
        }
        freeCount = free.length;
        tail = 0;
        rungTail = 0;
        head = 0;
        phase = true;
    }

    public int qid() {
        return qid;
    }

    int entries() {
        return entries;
    }

    long submissionsAddress() {
        return place == null ? submissions.busAddress() : place.busAddress();
    }

    /** Whether the controller has the submissions in its memory buffer. */
    boolean isInBuffer() {
        return place != null;
    }

    long completionsAddress() {
        return completions.busAddress();
    }

    /** Writes the command that tells a controller of the completions, next in its admin queue; they interrupt nobody. */
    void writeCreateCompletions(NvmeQueue admin, int slot) {
        CreateQueueCommand.writeCompletionQueue(
                admin.commands(), admin.commandAt(), slot, qid, entries, completions.busAddress(), -1);
    }

    /** Likewise of the submissions, after that. */
    void writeCreateSubmissions(NvmeQueue admin, int slot) {
        CreateQueueCommand.writeSubmissionQueue(
                admin.commands(), admin.commandAt(), slot, qid, entries, submissionsAddress());
    }

    /** Commands that have not ended. */
    public int outstanding() {
        return free.length - freeCount;
    }

    /** A free slot, or -1; the command is then written at {@link #commandAt} and {@linkplain #submit submitted}, or {@linkplain #giveBack given back}. */
    public int take() {
        return freeCount == 0 ? -1 : free[--freeCount];
    }

    /** Gives a slot back that was taken last, without a command. */
    void giveBack(int slot) {
        free[freeCount++] = slot;
    }

    /** Memory with the next command at {@link #commandAt}. */
    public MemorySegment commands() {
        return submissions.segment();
    }

    public long commandAt() {
        return (long) tail * SubmissionQueueEntry.SIZE_BYTES;
    }

    /**
     * Names the data of the next command, which lies in one piece for the device: by two PRPs where they suffice, since then nothing is left
     * to fetch, else by one SGL data block if the controller has SGLs, else by a PRP list.
     *
     * @param address on the bus, a multiple of what the {@linkplain NvmeController#dataAlignmentBytes controller asks for}
     * @param lengthBytes up to the controller's {@link NvmeController#maxTransferBytes}
     */
    public void data(int slot, long address, long lengthBytes) {
        long inFirstPage = PAGE_BYTES - (address & (PAGE_BYTES - 1));
        long secondPage = address + inFirstPage;
        if (lengthBytes <= inFirstPage + PAGE_BYTES && (address & 3) == 0) {
            long prp2 = lengthBytes > inFirstPage ? secondPage : 0;
            SubmissionQueueEntry.prp(commands(), commandAt(), address, prp2);
        } else if (lists == null) {
            SubmissionQueueEntry.sgl(commands(), commandAt(), address, (int) lengthBytes);
        } else {
            long list = (long) slot * PAGE_BYTES;
            long at = list;
            for (long page = secondPage; page < address + lengthBytes; page += PAGE_BYTES) {
                lists.segment().set(PRP, at, page);
                at += Long.BYTES;
            }
            SubmissionQueueEntry.prp(commands(), commandAt(), address, lists.busAddress() + list);
        }
    }

    /** Hands the next command over with the next {@link #ring}. */
    public void submit(int slot, long deadlineNanos) {
        if (SubmissionQueueEntry.psdt(commands(), commandAt()) != 0
                && SglDescriptor.isKeyed(commands(), commandAt() + SubmissionQueueEntry.DPTR_OFFSET)) {
            SubmissionQueueEntry.prp(commands(), commandAt(), 0, 0); // no data
        }
        SubmissionQueueEntry.commandId(commands(), commandAt(), slot);
        outstanding[slot] = true;
        deadlines[slot] = deadlineNanos;
        tail = tail + 1 == entries ? 0 : tail + 1;
    }

    /** Tells the controller of the commands submitted. */
    public void ring() {
        if (tail != rungTail) {
            if (place != null) {
                copyTo(place.segment());
            }
            rungTail = tail;
            registers.write32(submissionDoorbell, tail);
        }
    }

    /** Copies what was submitted since the last ring, at most in two pieces, to be there before the doorbell (NVMe Base 2.0, section 8.5). */
    private void copyTo(MemorySegment buffer) {
        if (tail < rungTail) {
            copyTo(buffer, rungTail, entries);
            copyTo(buffer, 0, tail);
        } else {
            copyTo(buffer, rungTail, tail);
        }
    }

    private void copyTo(MemorySegment buffer, int first, int end) {
        long at = (long) first * SubmissionQueueEntry.SIZE_BYTES;
        long length = (long) (end - first) * SubmissionQueueEntry.SIZE_BYTES;
        registers.copy(submissions.segment(), buffer, at, length);
    }

    /** Takes what has ended, see {@link #poll(Handler, boolean)}, and tells the controller so. */
    int poll(Handler handler) throws NvmeDeviceException {
        return poll(handler, true);
    }

    /**
     * Takes what has ended.
     *
     * @param ring whether the controller is told; not one that was stopped
     * @return how many commands
     * @throws NvmeDeviceException if the controller ends a command that is not outstanding
     */
    int poll(Handler handler, boolean ring) throws NvmeDeviceException {
        MemorySegment memory = completions.segment();
        int count = 0;
        try {
            while (CompletionQueueEntry.phase(memory, at()) == phase) {
                VarHandle.acquireFence(); // the rest of the entry was written before its phase
                int slot = CompletionQueueEntry.commandId(memory, at());
                int status = CompletionQueueEntry.status(memory, at());
                int result = CompletionQueueEntry.dword0(memory, at());
                head++;
                if (head == entries) {
                    head = 0;
                    phase = !phase;
                }
                count++;
                if (slot >= outstanding.length || !outstanding[slot]) {
                    throw new NvmeDeviceException(
                            "the controller ends command " + slot + " of queue " + qid + ", which is not outstanding");
                }
                end(slot, status, result, handler);
            }
        } finally {
            if (count > 0 && ring) {
                registers.write32(completionDoorbell, head);
            }
        }
        return count;
    }

    private long at() {
        return (long) head * CompletionQueueEntry.SIZE_BYTES;
    }

    private void end(int slot, int status, int result, Handler handler) {
        outstanding[slot] = false;
        deadlines[slot] = NO_DEADLINE;
        free[freeCount++] = slot;
        handler.ended(slot, status, result);
    }

    /** Ends every outstanding command; the controller must not touch its data any more. */
    void endAll(int status, Handler handler) {
        for (int slot = 0; slot < outstanding.length; slot++) {
            if (outstanding[slot]) {
                end(slot, status, 0, handler);
            }
        }
    }

    /** A slot whose deadline has passed, or -1. */
    int overdue(long nowNanos) {
        for (int slot = 0; slot < deadlines.length; slot++) {
            if (isOverdue(slot, nowNanos)) {
                return slot;
            }
        }
        return -1;
    }

    boolean isOverdue(int slot, long nowNanos) {
        return deadlines[slot] != NO_DEADLINE && nowNanos - deadlines[slot] >= 0;
    }

    /** Gives the memory back; the controller must have forgotten the queue. */
    @Override
    public void close() {
        submissions.close();
        completions.close();
        if (lists != null) {
            lists.close();
        }
    }
}

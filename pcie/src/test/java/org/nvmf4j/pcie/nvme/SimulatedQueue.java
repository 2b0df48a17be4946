package org.nvmf4j.pcie.nvme;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import org.nvmf4j.nvme.CompletionQueueEntry;
import org.nvmf4j.nvme.SubmissionQueueEntry;

/** One queue pair as a simulated device has it. */
final class SimulatedQueue {
    long submissions;
    int submissionEntries;
    long completions;
    int completionEntries;
    int submissionHead;
    int submissionTail;
    int completionTail;
    int completionHead;
    boolean phase = true;

    /** The memory of a device. */
    interface Bus {
        MemorySegment at(long address, long length);
    }

    /** Takes the next command; there is one. */
    Fetched fetch(int qid, Bus bus) {
        MemorySegment entry = Arena.ofAuto().allocate(SubmissionQueueEntry.SIZE_BYTES, 8);
        long at = submissions + (long) submissionHead * SubmissionQueueEntry.SIZE_BYTES;
        entry.copyFrom(bus.at(at, SubmissionQueueEntry.SIZE_BYTES));
        submissionHead = (submissionHead + 1) % submissionEntries;
        return new Fetched(qid, entry);
    }

    /** Ends a command: its phase is the last that is written. */
    void complete(Fetched command, int status, int result, Bus bus) {
        if ((completionTail + 1) % completionEntries == completionHead) {
            throw new AssertionError("completion queue " + command.qid + " overflows");
        }
        long at = completions + (long) completionTail * CompletionQueueEntry.SIZE_BYTES;
        MemorySegment entry = bus.at(at, CompletionQueueEntry.SIZE_BYTES);
        CompletionQueueEntry.write(
                entry, 0, Integer.toUnsignedLong(result), submissionHead, command.qid, command.cid(), status);
        VarHandle.releaseFence();
        CompletionQueueEntry.phase(entry, 0, phase);
        completionTail++;
        if (completionTail == completionEntries) {
            completionTail = 0;
            phase = !phase;
        }
    }

    /** A command that was fetched and not completed. */
    record Fetched(int qid, MemorySegment entry) {
        int cid() {
            return SubmissionQueueEntry.commandId(entry, 0);
        }
    }
}

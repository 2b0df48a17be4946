package org.nvmf4j.target;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import org.nvmf4j.nvme.CompletionQueueEntry;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.VerbsException;

/**
 * The registered memory of one queue, in one piece: commands, responses, and in-capsule data. The data lies apart from the commands,
 * so that it begins at a page where its size allows and a file takes it as it is.
 */
final class QueueMemory implements AutoCloseable {
    private static final int PAGE_BYTES = 4096;

    private final Arena arena = Arena.ofShared();
    private final int inCapsuleBytes;
    private final long responsesOffset;
    private final long dataOffset;
    private final MemoryRegion region;

    /**
     * Allocates and registers.
     *
     * @param receives command slots
     * @param responses response slots
     * @param inCapsuleBytes data in a capsule at most; 0 on an admin queue
     * @throws VerbsException if the device has no room, or there is no memory
     */
    QueueMemory(ProtectionDomain domain, int receives, int responses, int inCapsuleBytes) throws VerbsException {
        this.inCapsuleBytes = inCapsuleBytes;
        responsesOffset = (long) receives * SubmissionQueueEntry.SIZE_BYTES;
        dataOffset = dataOffset(receives, responses);
        try {
            MemorySegment memory = arena.allocate(sizeBytes(receives, responses, inCapsuleBytes), PAGE_BYTES);
            region = domain.register(memory, EnumSet.of(AccessFlag.LOCAL_WRITE));
        } catch (VerbsException | RuntimeException e) {
            arena.close();
            throw e;
        } catch (OutOfMemoryError e) {
            arena.close();
            throw new VerbsException("no memory for a queue of " + receives + " entries", e);
        }
    }

    private static long dataOffset(int receives, int responses) {
        long end =
                (long) receives * SubmissionQueueEntry.SIZE_BYTES + (long) responses * CompletionQueueEntry.SIZE_BYTES;
        return (end + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    }

    /** How much memory a queue takes. */
    static long sizeBytes(int receives, int responses, int inCapsuleBytes) {
        return dataOffset(receives, responses) + (long) receives * inCapsuleBytes;
    }

    MemorySegment segment() {
        return region.segment();
    }

    int lkey() {
        return region.lkey();
    }

    int inCapsuleBytes() {
        return inCapsuleBytes;
    }

    long commandOffset(int slot) {
        return (long) slot * SubmissionQueueEntry.SIZE_BYTES;
    }

    long responseOffset(int index) {
        return responsesOffset + (long) index * CompletionQueueEntry.SIZE_BYTES;
    }

    long inCapsuleOffset(int slot) {
        return dataOffset + (long) slot * inCapsuleBytes;
    }

    @Override
    public void close() {
        region.close();
        arena.close();
    }
}

package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.ControllerMemoryBuffer;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.target.spi.PeerBlock;

/**
 * A part of a controller's memory buffer where submission queues are. Each I/O queue has a place by its identifier, which is no other
 * queue's before the controller has forgotten it. Thread-safe.
 *
 * <p>What CMBLOC has bits for is so kept whatever they are (NVMe Base 2.0, section 8.5; 2.1, section 8.2.1): a queue is in one piece that starts
 * at a page (CQMMS, CQPDS, CQDA), the PRP lists of its commands are in host memory, as those of any command may be (CDPMLS, CDPCILS), and the
 * data of a command is all in one memory (CDMMMS).
 */
final class CmbQueues implements AutoCloseable {
    /** Of a place: whole pages. */
    static final int PLACE_BYTES = 16384;

    /** Where a queue is. */
    record Place(MemorySegment segment, long busAddress) {}

    private final @Nullable PeerBlock block;

    private CmbQueues(@Nullable PeerBlock block) {
        this.block = block;
    }

    /**
     * Takes memory for as many queues as there is room for; of a buffer that takes data, half is left for that.
     *
     * @param who for messages
     * @param queues at most
     * @throws IOException with one line, if the drive has no memory buffer for queues
     */
    static CmbQueues reserve(String who, NvmeHardware hardware, int queues) throws IOException {
        NvmeCmb buffer = hardware.memoryBuffer();
        if (buffer == null) {
            throw new IOException(who + " has no memory buffer that can be used; leave use_cmb_sqs=1 away");
        }
        ControllerMemoryBuffer description = buffer.description();
        if (!description.submissionQueues()) {
            throw new IOException(who + " takes no submission queues in its memory buffer (CMBSZ.SQS is 0);"
                    + " leave use_cmb_sqs=1 away");
        }
        long share = description.takesData() ? buffer.sizeBytes() / 2 : buffer.sizeBytes();
        for (long places = Math.min(queues, share / PLACE_BYTES); places > 0; places /= 2) {
            PeerBlock block = hardware.allocateInBuffer(places * PLACE_BYTES);
            if (block != null) {
                return new CmbQueues(block);
            }
        }
        return new CmbQueues(null);
    }

    /** Where a queue may be, or null if there is no room. */
    @Nullable
    Place place(int qid, int entries) {
        long at = (long) (qid - 1) * PLACE_BYTES;
        long bytes = (long) entries * SubmissionQueueEntry.SIZE_BYTES;
        return block == null || at >= block.segment().byteSize() || bytes > PLACE_BYTES
                ? null
                : new Place(
                        block.segment().asSlice(at, bytes), block.busAddress().orElseThrow() + at);
    }

    /** Gives the memory back; the controller must have forgotten the queues, and no lane may ring one. */
    @Override
    public void close() {
        if (block != null) {
            block.close();
        }
    }
}

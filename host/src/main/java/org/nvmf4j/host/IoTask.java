package org.nvmf4j.host;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.NvmeStatusException;

/** One read, write or flush that any thread asked for; from {@link IoDispatcher#submit} on it belongs to the dispatcher's lane. */
final class IoTask {
    final int opcode;
    final Namespace namespace;
    final int blocks;
    final @Nullable RegisteredBuffer buffer;
    final long bufferOffset;
    /** Memory that is not registered, or null. */
    final @Nullable MemorySegment memory;

    final CompletableFuture<Void> future = new CompletableFuture<>();
    private final long lba;

    int blocksIssued;
    int pieces;
    private int status = NvmeStatus.SUCCESS;

    private IoTask(
            int opcode,
            Namespace namespace,
            long lba,
            int blocks,
            @Nullable RegisteredBuffer buffer,
            long bufferOffset,
            @Nullable MemorySegment memory) {
        this.opcode = opcode;
        this.namespace = namespace;
        this.lba = lba;
        this.blocks = blocks;
        this.buffer = buffer;
        this.bufferOffset = bufferOffset;
        this.memory = memory;
    }

    static IoTask registered(
            int opcode, Namespace namespace, long lba, int blocks, RegisteredBuffer buffer, long bufferOffset) {
        return new IoTask(opcode, namespace, lba, blocks, buffer, bufferOffset, null);
    }

    static IoTask copied(int opcode, Namespace namespace, long lba, int blocks, MemorySegment memory) {
        return new IoTask(opcode, namespace, lba, blocks, null, 0, memory);
    }

    static IoTask flush(Namespace namespace) {
        return new IoTask(IoOpcode.FLUSH, namespace, 0, 1, null, 0, null);
    }

    long nextLba() {
        return lba + blocksIssued;
    }

    int blocksLeft() {
        return blocks - blocksIssued;
    }

    /** One piece has ended; the rest of a failed task is not sent. */
    void onPieceEnded(int pieceStatus) {
        pieces--;
        if (pieceStatus != NvmeStatus.SUCCESS) {
            blocksIssued = blocks;
            if (status == NvmeStatus.SUCCESS) {
                status = pieceStatus;
            }
        }
    }

    boolean hasEnded() {
        return pieces == 0 && blocksIssued == blocks;
    }

    /**
     * Completes the future.
     *
     * @param queueEnd why the queue ended, or null if it has not
     */
    void finish(@Nullable HostException queueEnd) {
        if (status == NvmeStatus.SUCCESS) {
            future.complete(null);
        } else if (queueEnd != null && NvmeStatus.code(status) == NvmeStatus.ABORTED_BY_HOST) {
            lost(queueEnd);
        } else {
            future.completeExceptionally(NvmeStatusException.of(describe(), status, 0));
        }
    }

    void lost(HostException cause) {
        future.completeExceptionally(new TransportException(describe() + ": " + cause.getMessage(), cause));
    }

    private String describe() {
        String name = IoOpcode.name(opcode);
        return opcode == IoOpcode.FLUSH
                ? name + " of namespace " + namespace.id()
                : name + " of " + blocks + " blocks at LBA " + Long.toUnsignedString(lba) + " of namespace "
                        + namespace.id();
    }
}

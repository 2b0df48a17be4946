package org.nvmf4j.host;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.IdentifyNamespace;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.LbaFormat;
import org.nvmf4j.nvme.NamespaceIdentification;
import org.nvmf4j.nvme.NvmeStatusException;
import org.nvmf4j.nvme.ReadWriteCommand;
import org.nvmf4j.nvme.SglDescriptor;

/**
 * A namespace: what it is, and blocking and asynchronous I/O on it from any thread (with {@link ThreadingMode#LANE_THREADS}; with
 * {@link ThreadingMode#CALLER_THREAD} it goes through {@link IoQueue} instead). Thread-safe.
 *
 * <p>Requests may be of any size: what exceeds the controller's limit goes as several commands, and several may be on the way at a
 * time, in no order. Memory of a {@link RegisteredBuffer} is used in place, also where it is given as a segment; any other memory is
 * copied once. It must be accessible by other threads: not of a confined arena.
 *
 * <p>An asynchronous request owns its memory until its future completes, which happens on a lane: what depends on it there must not
 * block. Futures complete exceptionally with {@link NvmeStatusException} or {@link HostException}.
 */
public final class Namespace {
    /** No limit for one command is above this: the largest power of two that a keyed SGL can describe. */
    private static final int MAX_COMMAND_BYTES = Integer.highestOneBit(SglDescriptor.MAX_KEYED_LENGTH_BYTES);

    private static final Thread ANOTHER_THREAD = Thread.ofPlatform().unstarted(() -> {});

    private final Controller controller;
    private final int id;
    private final IdentifyNamespace identify;
    private final @Nullable NamespaceIdentification identification;
    private final int blockShift;
    private final int maxBlocksPerCommand;

    private Namespace(
            Controller controller,
            int id,
            IdentifyNamespace identify,
            @Nullable NamespaceIdentification identification,
            int blockShift) {
        this.controller = controller;
        this.id = id;
        this.identify = identify;
        this.identification = identification;
        this.blockShift = blockShift;
        long bytes = Math.min(controller.identify().maxTransferBytes(), MAX_COMMAND_BYTES);
        maxBlocksPerCommand = Math.clamp(bytes >> blockShift, 1, ReadWriteCommand.MAX_BLOCKS);
    }

    static Namespace of(
            Controller controller, int id, IdentifyNamespace identify, @Nullable NamespaceIdentification identification)
            throws HostException {
        String name = "namespace " + Integer.toUnsignedString(id) + " of " + controller.subsystemNqn();
        if (!identify.isActive()) {
            throw new HostException(name + " is not active; list-ns tells which are");
        }
        LbaFormat format = identify.lbaFormat();
        if (format.blockSizeBytes() == 0 || format.blockSizeBytes() > MAX_COMMAND_BYTES) {
            throw new HostException(
                    name + " has blocks of 2^" + format.lbads() + " bytes, which this host does not use");
        }
        if (format.ms() != 0) {
            throw new HostException(
                    name + " has " + format.ms() + " bytes of metadata with each block, which this host does not use");
        }
        return new Namespace(controller, id, identify, identification, format.lbads());
    }

    /** NSID. */
    public int id() {
        return id;
    }

    /** Identify Namespace, as read when this object was made. */
    public IdentifyNamespace identify() {
        return identify;
    }

    /** By what hosts know the namespace on every path; null from a controller before NVMe 1.3. */
    public @Nullable NamespaceIdentification identification() {
        return identification;
    }

    public Controller controller() {
        return controller;
    }

    /** Bytes of a logical block, a power of two from 512. */
    public int blockBytes() {
        return 1 << blockShift;
    }

    /** Logical blocks. */
    public long blocks() {
        return identify.nsze();
    }

    /** Size in bytes; {@link Long#MAX_VALUE} at most. */
    public long sizeBytes() {
        return blocks() > Long.MAX_VALUE >> blockShift || blocks() < 0 ? Long.MAX_VALUE : blocks() << blockShift;
    }

    int blockShift() {
        return blockShift;
    }

    /** What one command reads or writes at most, in blocks. */
    public int maxBlocksPerCommand() {
        return maxBlocksPerCommand;
    }

    /**
     * Reads as many blocks as the destination has room for, and waits.
     *
     * @param lba first logical block
     * @param destination a multiple of the block size, at least one block
     */
    public void read(long lba, MemorySegment destination) throws IOException {
        await(start(IoOpcode.READ, lba, destination));
    }

    /** Writes as many blocks as the source has, and waits; as {@link #read}. */
    public void write(long lba, MemorySegment source) throws IOException {
        await(start(IoOpcode.WRITE, lba, source));
    }

    /** Waits until what was written before is on stable storage. */
    public void flush() throws IOException {
        IoTask task = IoTask.flush(this);
        await(submit(task));
    }

    /** As {@link #read}, without waiting. */
    public CompletableFuture<Void> readAsync(long lba, MemorySegment destination) {
        return start(IoOpcode.READ, lba, destination).future;
    }

    /** As {@link #write}, without waiting. */
    public CompletableFuture<Void> writeAsync(long lba, MemorySegment source) {
        return start(IoOpcode.WRITE, lba, source).future;
    }

    /** As {@link #flush}, without waiting. */
    public CompletableFuture<Void> flushAsync() {
        return submit(IoTask.flush(this)).future;
    }

    /**
     * Reads into a part of a registered buffer, without waiting.
     *
     * @param offset of the first byte in the buffer
     */
    public CompletableFuture<Void> readAsync(long lba, int blocks, RegisteredBuffer buffer, long offset) {
        return startRegistered(IoOpcode.READ, lba, blocks, buffer, offset);
    }

    /** Writes from a part of a registered buffer, without waiting; as {@link #readAsync(long, int, RegisteredBuffer, long)}. */
    public CompletableFuture<Void> writeAsync(long lba, int blocks, RegisteredBuffer buffer, long offset) {
        return startRegistered(IoOpcode.WRITE, lba, blocks, buffer, offset);
    }

    private CompletableFuture<Void> startRegistered(
            int opcode, long lba, int blocks, RegisteredBuffer buffer, long offset) {
        long lengthBytes = (long) blocks << blockShift;
        if (blocks < 1 || offset < 0 || offset > buffer.lengthBytes() || lengthBytes > buffer.lengthBytes() - offset) {
            throw new IndexOutOfBoundsException(blocks + " blocks of " + blockBytes() + " bytes at offset " + offset
                    + " are not within a buffer of " + buffer.lengthBytes() + " bytes");
        }
        return submit(IoTask.registered(opcode, this, lba, blocks, buffer, offset)).future;
    }

    private IoTask start(int opcode, long lba, MemorySegment memory) {
        long count = memory.byteSize() >> blockShift;
        if (count << blockShift != memory.byteSize() || count < 1 || count > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("memory of " + memory.byteSize() + " bytes is not 1 to 2^31-1 blocks of "
                    + blockBytes() + " bytes");
        }
        if (opcode == IoOpcode.READ && memory.isReadOnly()) {
            throw new IllegalArgumentException("the destination of a read is read-only memory");
        }
        if (!memory.isAccessibleBy(ANOTHER_THREAD)) {
            throw new IllegalArgumentException(
                    "memory of a confined arena belongs to its thread; use an automatic or shared arena, or the heap");
        }
        RegisteredBuffer registered = controller.memory().find(memory);
        if (registered != null) {
            long offset = memory.address() - registered.address();
            return submit(IoTask.registered(opcode, this, lba, (int) count, registered, offset));
        }
        return submit(IoTask.copied(opcode, this, lba, (int) count, memory));
    }

    private IoTask submit(IoTask task) {
        controller.dispatcher().submit(task);
        return task;
    }

    private void await(IoTask task) throws IOException {
        try {
            controller.dispatcher().queue().lane().await(task.future);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof NvmeStatusException status) {
                throw status;
            }
            throw AdminClient.asHostException(e.getCause());
        }
    }
}

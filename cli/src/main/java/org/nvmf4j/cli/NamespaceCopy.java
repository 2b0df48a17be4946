package org.nvmf4j.cli;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.host.Host;
import org.nvmf4j.host.HostException;
import org.nvmf4j.host.Namespace;
import org.nvmf4j.host.RegisteredBuffer;

/** Moves data between a namespace and a channel, several requests at a time, from registered memory and without a copy. */
final class NamespaceCopy implements AutoCloseable {
    private static final int CHUNK_BYTES = 256 << 10;
    private static final int DEPTH = 16;

    private final Namespace namespace;
    private final RegisteredBuffer buffer;
    private final ByteBuffer view;

    @SuppressWarnings({"unchecked", "rawtypes"})
    private final @Nullable CompletableFuture<Void>[] pending = new CompletableFuture[DEPTH];
    /** Of the writes in {@link #pending}. */
    private final int[] lengths = new int[DEPTH];

    private int oldest;
    private long copied;
    private boolean failed;

    /**
     * What was copied.
     *
     * @param sha256 of its bytes
     */
    @SuppressWarnings("ArrayRecordComponent") // made once, compared once
    record Outcome(long bytes, byte[] sha256) {}

    NamespaceCopy(Host host, Namespace namespace) throws IOException {
        this.namespace = namespace;
        buffer = host.allocate((long) CHUNK_BYTES * DEPTH);
        view = buffer.segment().asByteBuffer();
    }

    long sizeBytes() {
        return namespace.sizeBytes();
    }

    /**
     * Copies into the namespace from its start, and flushes it. A last block that is filled in part keeps its other bytes.
     *
     * @param length in bytes, or {@link LocalData#UNKNOWN} for all that comes
     */
    Outcome upload(ReadableByteChannel from, long length, LongConsumer progress) throws IOException {
        MessageDigest digest = sha256();
        long done = 0;
        for (int slot = 0; ; slot = (slot + 1) % DEPTH) {
            oldest = slot;
            await(slot);
            long left = length == LocalData.UNKNOWN ? CHUNK_BYTES : length - done;
            int got = fill(from, slot, (int) Math.min(CHUNK_BYTES, left));
            if (got == 0) {
                break;
            }
            if (got > sizeBytes() - done) {
                awaitAll();
                namespace.flush();
                throw new HostException("the source has more than the " + sizeBytes() + " bytes of the namespace: "
                        + "export a larger one, or copy less with --size");
            }
            digest.update(chunk(slot, got));
            int rest = got % namespace.blockBytes();
            if (rest != 0) {
                completeBlock(slot, done, got - rest, rest);
            }
            pending[slot] =
                    namespace.writeAsync(done / namespace.blockBytes(), blocks(got), buffer, (long) slot * CHUNK_BYTES);
            lengths[slot] = got;
            done += got;
            progress.accept(got);
        }
        awaitAll();
        namespace.flush();
        if (length != LocalData.UNKNOWN && done != length) {
            throw new IOException("the source ended after " + done + " of " + length + " bytes");
        }
        return new Outcome(done, digest.digest());
    }

    /** Copies the first {@code length} bytes of the namespace. */
    Outcome download(WritableByteChannel to, long length, LongConsumer progress) throws IOException {
        MessageDigest digest = sha256();
        forEachChunk(length, chunk -> {
            digest.update(chunk.duplicate());
            int bytes = chunk.remaining();
            while (chunk.hasRemaining()) {
                to.write(chunk);
            }
            copied += bytes;
            progress.accept(bytes);
        });
        return new Outcome(length, digest.digest());
    }

    /** Reads the first {@code length} bytes again. */
    byte[] hash(long length, LongConsumer progress) throws IOException {
        MessageDigest digest = sha256();
        forEachChunk(length, chunk -> {
            progress.accept(chunk.remaining());
            digest.update(chunk);
        });
        return digest.digest();
    }

    private interface ChunkConsumer {
        void accept(ByteBuffer chunk) throws IOException;
    }

    private void forEachChunk(long length, ChunkConsumer consumer) throws IOException {
        long asked = 0;
        long done = 0;
        while (done < length) {
            while (asked < length && asked - done < (long) DEPTH * CHUNK_BYTES) {
                int bytes = (int) Math.min(CHUNK_BYTES, length - asked);
                int slot = slotOf(asked);
                pending[slot] = namespace.readAsync(
                        asked / namespace.blockBytes(), blocks(bytes), buffer, (long) slot * CHUNK_BYTES);
                asked += bytes;
            }
            int bytes = (int) Math.min(CHUNK_BYTES, length - done);
            int slot = slotOf(done);
            await(slot);
            consumer.accept(chunk(slot, bytes));
            done += bytes;
        }
    }

    private static int slotOf(long position) {
        return (int) (position / CHUNK_BYTES % DEPTH);
    }

    private int fill(ReadableByteChannel from, int slot, int most) throws IOException {
        ByteBuffer chunk = chunk(slot, most);
        int got = 0;
        while (chunk.hasRemaining() && got >= 0) {
            got = from.read(chunk);
        }
        return most - chunk.remaining();
    }

    /** Reads the rest of the block that the chunk's last bytes begin. */
    private void completeBlock(int slot, long position, int wholeBytes, int restBytes) throws IOException {
        byte[] block = new byte[namespace.blockBytes()];
        java.lang.foreign.MemorySegment old = java.lang.foreign.MemorySegment.ofArray(block);
        namespace.read((position + wholeBytes) / block.length, old);
        view.put(slot * CHUNK_BYTES + wholeBytes + restBytes, block, restBytes, block.length - restBytes);
    }

    private int blocks(int bytes) {
        return Math.ceilDiv(bytes, namespace.blockBytes());
    }

    private ByteBuffer chunk(int slot, int bytes) {
        return view.slice(slot * CHUNK_BYTES, bytes);
    }

    private void awaitAll() throws IOException {
        for (int i = 0; i < DEPTH; i++) {
            await((oldest + i) % DEPTH);
        }
    }

    /** How many bytes from the start have arrived at the other side; waits for what is on its way. */
    long settle() {
        for (int i = 0; i < DEPTH; i++) {
            int slot = (oldest + i) % DEPTH;
            CompletableFuture<Void> future = pending[slot];
            if (future != null) {
                pending[slot] = null;
                ended(slot, future.handle((nothing, error) -> error == null).join());
            }
        }
        return copied;
    }

    private void ended(int slot, boolean well) {
        failed |= !well;
        if (!failed) {
            copied += lengths[slot];
        }
    }

    private void await(int slot) throws IOException {
        CompletableFuture<Void> future = pending[slot];
        if (future == null) {
            return;
        }
        try {
            future.get();
            pending[slot] = null;
            ended(slot, true);
        } catch (ExecutionException e) {
            pending[slot] = null;
            ended(slot, false);
            throw e.getCause() instanceof IOException io ? io : new HostException("the copy failed", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new HostException("interrupted", e);
        }
    }

    /**
     * Looks whether so many bytes fit into the namespace.
     *
     * @throws HostException if they do not
     */
    void requireRoomFor(long bytes) throws HostException {
        if (bytes > sizeBytes()) {
            throw new HostException("the source has " + bytes + " bytes, the namespace only " + sizeBytes()
                    + ": export a larger one, or copy less with --size");
        }
    }

    static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    @Override
    public void close() {
        // The memory belongs to the device until every request has ended, however it ends.
        var _ = settle();
        buffer.close();
    }
}

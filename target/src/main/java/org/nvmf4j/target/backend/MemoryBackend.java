package org.nvmf4j.target.backend;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.target.spi.BackendRequest;
import org.nvmf4j.target.spi.BackendStatus;
import org.nvmf4j.target.spi.PeerClient;

/**
 * Blocks in off-heap memory, gone when the target ends. Memory is taken as it is first written, in chunks of 64 KiB or more; what
 * was never written reads as zero. Deallocating does nothing.
 */
public final class MemoryBackend implements Backend {
    private static final int MIN_CHUNK_SHIFT = 16;
    private static final int MAX_CHUNKS_SHIFT = 20;
    private static final VarHandle CHUNK = MethodHandles.arrayElementVarHandle(MemorySegment[].class);

    private final long sizeBytes;
    private final int chunkShift;
    private final Arena arena = Arena.ofShared();
    private final @Nullable MemorySegment[] chunks;
    private final MemorySegment zeroes;

    /**
     * Makes a backend.
     *
     * @param sizeBytes at least one block; not more than there is memory
     */
    public MemoryBackend(long sizeBytes) {
        if (sizeBytes <= 0) {
            throw new IllegalArgumentException("a memory backend needs a size above zero, not " + sizeBytes);
        }
        this.sizeBytes = sizeBytes;
        int sizeBits = 64 - Long.numberOfLeadingZeros(sizeBytes - 1);
        this.chunkShift = Math.max(MIN_CHUNK_SHIFT, sizeBits - MAX_CHUNKS_SHIFT);
        if (chunkShift > 30) {
            throw new IllegalArgumentException("a memory backend of " + sizeBytes + " bytes is larger than any memory");
        }
        this.chunks = new MemorySegment[(int) (((sizeBytes - 1) >>> chunkShift) + 1)];
        this.zeroes = arena.allocate(1L << MIN_CHUNK_SHIFT);
    }

    @Override
    public long sizeBytes() {
        return sizeBytes;
    }

    @Override
    public int preferredBlockSizeBytes() {
        return 512;
    }

    @Override
    public PeerClient peerClient() {
        return new PeerClient.Cpu("the memory backend");
    }

    @Override
    public BackendStatus submit(BackendRequest request) {
        return switch (request.operation()) {
            case READ -> read(request);
            case WRITE -> write(request);
            case WRITE_ZEROES -> writeZeroes(request);
            case COMPARE -> compare(request);
            case FLUSH, DEALLOCATE -> BackendStatus.SUCCESS;
        };
    }

    private BackendStatus read(BackendRequest request) {
        long offset = request.offsetBytes();
        long end = offset + request.lengthBytes();
        long at = 0;
        while (offset < end) {
            long length = Math.min(end - offset, toChunkEnd(offset));
            MemorySegment chunk = chunk(offset);
            boolean there =
                    chunk == null ? zero(request, at, length) : request.copyToData(chunk, inChunk(offset), at, length);
            if (!there) {
                return BackendStatus.DATA_LOST;
            }
            offset += length;
            at += length;
        }
        return BackendStatus.SUCCESS;
    }

    private BackendStatus write(BackendRequest request) {
        long offset = request.offsetBytes();
        long end = offset + request.lengthBytes();
        long at = 0;
        while (offset < end) {
            long length = Math.min(end - offset, toChunkEnd(offset));
            MemorySegment chunk = chunk(offset);
            if (chunk == null) {
                chunk = allocateChunk((int) (offset >>> chunkShift));
                if (chunk == null) {
                    return BackendStatus.CAPACITY_EXCEEDED;
                }
            }
            if (!request.copyFromData(at, chunk, inChunk(offset), length)) {
                return BackendStatus.DATA_LOST;
            }
            offset += length;
            at += length;
        }
        return BackendStatus.SUCCESS;
    }

    private BackendStatus compare(BackendRequest request) {
        long at = 0;
        while (at < request.lengthBytes()) {
            long offset = request.offsetBytes() + at;
            long length = Math.min(request.lengthBytes() - at, toChunkEnd(offset));
            MemorySegment chunk = chunk(offset);
            boolean same;
            if (chunk == null) {
                length = Math.min(length, zeroes.byteSize());
                same = request.isSame(zeroes, 0, at, length);
            } else {
                same = request.isSame(chunk, inChunk(offset), at, length);
            }
            if (!same) {
                return BackendStatus.COMPARE_FAILURE;
            }
            at += length;
        }
        return BackendStatus.SUCCESS;
    }

    private BackendStatus writeZeroes(BackendRequest request) {
        long offset = request.offsetBytes();
        long end = offset + request.lengthBytes();
        while (offset < end) {
            long length = Math.min(end - offset, toChunkEnd(offset));
            MemorySegment chunk = chunk(offset);
            if (chunk != null) {
                zero(chunk, inChunk(offset), length);
            }
            offset += length;
        }
        return BackendStatus.SUCCESS;
    }

    private @Nullable MemorySegment chunk(long offset) {
        return (MemorySegment) CHUNK.getAcquire(chunks, (int) (offset >>> chunkShift));
    }

    /** Other lanes may write the same chunk for the first time too: the first one's memory counts. */
    private @Nullable MemorySegment allocateChunk(int index) {
        MemorySegment made;
        try {
            made = arena.allocate(1L << chunkShift, 64);
        } catch (OutOfMemoryError e) {
            return null;
        }
        MemorySegment there = (MemorySegment) CHUNK.compareAndExchange(chunks, index, null, made);
        return there == null ? made : there;
    }

    private boolean zero(BackendRequest request, long at, long length) {
        for (long done = 0; done < length; done += zeroes.byteSize()) {
            if (!request.copyToData(zeroes, 0, at + done, Math.min(zeroes.byteSize(), length - done))) {
                return false;
            }
        }
        return true;
    }

    private void zero(MemorySegment segment, long offset, long length) {
        for (long done = 0; done < length; done += zeroes.byteSize()) {
            MemorySegment.copy(zeroes, 0, segment, offset + done, Math.min(zeroes.byteSize(), length - done));
        }
    }

    private long inChunk(long offset) {
        return offset & ((1L << chunkShift) - 1);
    }

    private long toChunkEnd(long offset) {
        return (1L << chunkShift) - inChunk(offset);
    }

    @Override
    public String description() {
        return "memory";
    }

    @Override
    public void close() {
        arena.close();
    }
}

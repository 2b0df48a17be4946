package org.nvmf4j.target.backend;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.target.spi.BackendOperation;
import org.nvmf4j.target.spi.BackendRequest;
import org.nvmf4j.target.spi.BackendStatus;
import org.nvmf4j.target.spi.PeerClient;

/** Blocks that are not there: writes are forgotten, reads are zero, both at no cost. For measuring all the rest. */
public final class NullBackend implements Backend {
    private static final MemorySegment ZEROES = Arena.global().allocate(4096).asReadOnly();

    private final long sizeBytes;

    /**
     * Makes a backend.
     *
     * @param sizeBytes at least one block
     */
    public NullBackend(long sizeBytes) {
        if (sizeBytes <= 0) {
            throw new IllegalArgumentException("a null backend needs a size above zero, not " + sizeBytes);
        }
        this.sizeBytes = sizeBytes;
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
    public boolean readsZeroes() {
        return true;
    }

    @Override
    public PeerClient peerClient() {
        return new PeerClient.Cpu("the null backend");
    }

    @Override
    public BackendStatus submit(BackendRequest request) {
        return request.operation() != BackendOperation.COMPARE || isZero(request)
                ? BackendStatus.SUCCESS
                : BackendStatus.COMPARE_FAILURE;
    }

    private static boolean isZero(BackendRequest request) {
        for (long at = 0; at < request.lengthBytes(); at += ZEROES.byteSize()) {
            if (!request.isSame(ZEROES, 0, at, Math.min(ZEROES.byteSize(), request.lengthBytes() - at))) {
                return false;
            }
        }
        return true;
    }

    @Override
    public String description() {
        return "null";
    }

    @Override
    public void close() {
        // Nothing is held.
    }
}

package org.nvmf4j.target.backend;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.target.spi.BackendOperation;
import org.nvmf4j.target.spi.BackendRequest;
import org.nvmf4j.target.spi.BackendStatus;

/** A request with memory of its own that waits for its end. */
final class TestRequest extends BackendRequest {
    private final MemorySegment memory;
    private final ByteBuffer view;
    private CompletableFuture<BackendStatus> end = new CompletableFuture<>();

    TestRequest(int bytes) {
        memory = Arena.ofAuto().allocate(bytes, 4096);
        view = memory.asByteBuffer();
    }

    BackendStatus run(Backend backend, BackendOperation operation, long offset, long length, long at, boolean fua) {
        operation(operation, offset, length);
        data(memory, at, false);
        forceUnitAccess(fua);
        end = new CompletableFuture<>();
        BackendStatus status = backend.submit(this);
        return status == BackendStatus.PENDING
                ? end.orTimeout(60, TimeUnit.SECONDS).join()
                : status;
    }

    BackendStatus write(Backend backend, long offset, byte[] bytes) {
        return write(backend, offset, bytes, 0);
    }

    BackendStatus write(Backend backend, long offset, byte[] bytes, long at) {
        MemorySegment.copy(MemorySegment.ofArray(bytes), 0, memory, at, bytes.length);
        return run(backend, BackendOperation.WRITE, offset, bytes.length, at, false);
    }

    byte[] read(Backend backend, long offset, int length) {
        return read(backend, offset, length, 0);
    }

    byte[] read(Backend backend, long offset, int length, long at) {
        memory.fill((byte) 0x5a);
        BackendStatus status = run(backend, BackendOperation.READ, offset, length, at, false);
        if (status != BackendStatus.SUCCESS) {
            throw new AssertionError("read of " + length + " at " + offset + ": " + status);
        }
        return memory.asSlice(at, length).toArray(ValueLayout.JAVA_BYTE);
    }

    BackendStatus compare(Backend backend, long offset, byte[] bytes, long at) {
        MemorySegment.copy(MemorySegment.ofArray(bytes), 0, memory, at, bytes.length);
        return run(backend, BackendOperation.COMPARE, offset, bytes.length, at, false);
    }

    @Override
    protected ByteBuffer viewOfSegment() {
        return view;
    }

    @Override
    public void complete(BackendStatus status) {
        if (!end.complete(status)) {
            throw new IllegalStateException("ended twice");
        }
    }
}

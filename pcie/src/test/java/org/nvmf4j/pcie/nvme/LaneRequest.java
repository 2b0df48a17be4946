package org.nvmf4j.pcie.nvme;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.target.spi.BackendLane;
import org.nvmf4j.target.spi.BackendMapping;
import org.nvmf4j.target.spi.BackendOperation;
import org.nvmf4j.target.spi.BackendRequest;
import org.nvmf4j.target.spi.BackendStatus;

/** A request whose data lies in a part of a memory. */
final class LaneRequest extends BackendRequest {
    private final MemorySegment memory;
    private final long at;
    private boolean under;
    private BackendStatus status = BackendStatus.SUCCESS;

    LaneRequest(MemorySegment memory, long at) {
        this.memory = memory;
        this.at = at;
    }

    /** Hands it over; it may have ended when this returns. */
    void start(
            BackendLane lane,
            @Nullable BackendMapping mapping,
            BackendOperation operation,
            long offset,
            long length,
            boolean fua) {
        if (under) {
            throw new AssertionError("still under way");
        }
        operation(operation, offset, length);
        data(memory, at, false);
        forceUnitAccess(fua);
        mapping(mapping);
        under = true;
        BackendStatus now = lane.submit(this);
        if (now != BackendStatus.PENDING) {
            complete(now);
        }
    }

    boolean isUnderWay() {
        return under;
    }

    BackendStatus status() {
        if (under) {
            throw new AssertionError("still under way");
        }
        return status;
    }

    @Override
    protected ByteBuffer viewOfSegment() {
        return memory.asByteBuffer();
    }

    @Override
    public void complete(BackendStatus status) {
        if (!under) {
            throw new AssertionError("ended twice");
        }
        under = false;
        this.status = status;
    }
}

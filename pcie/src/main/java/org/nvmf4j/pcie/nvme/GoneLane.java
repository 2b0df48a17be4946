package org.nvmf4j.pcie.nvme;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.target.spi.BackendLane;
import org.nvmf4j.target.spi.BackendMapping;
import org.nvmf4j.target.spi.BackendRequest;
import org.nvmf4j.target.spi.BackendStatus;
import org.nvmf4j.target.spi.PeerBlock;

/** What a lane gets of a drive that cannot be used any more: every request ends for good. */
final class GoneLane implements BackendLane {
    @Override
    public BackendMapping map(MemorySegment memory, @Nullable PeerBlock block) {
        return () -> {};
    }

    @Override
    public BackendStatus submit(BackendRequest request) {
        return HostStatus.tell(request, NvmeController.ENDED_FOR_GOOD);
    }

    @Override
    public int poll(long nowNanos) {
        return 0;
    }

    @Override
    public boolean hasOutstanding() {
        return false;
    }

    @Override
    public void close() {}
}

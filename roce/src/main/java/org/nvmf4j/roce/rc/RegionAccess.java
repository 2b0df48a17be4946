package org.nvmf4j.roce.rc;

import java.lang.foreign.MemorySegment;
import org.nvmf4j.roce.wire.PacketSink;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.OnDemandMemory;

/** Reading and writing of registered memory that a look-up has just allowed; false if it has been taken away all the same. */
final class RegionAccess {
    private RegionAccess() {}

    /** Names bytes of a region to the sink; if they are gone, the packet is dropped. */
    static boolean gather(MemoryRegion region, long address, int length, PacketSink sink) {
        long offset = address - region.address();
        if (region.isOnDemand()) {
            return sink.onDemandPayload(region.segment(), offset, length);
        }
        sink.payload(region.segment(), offset, length);
        return true;
    }

    /** Writes bytes to a region. */
    static boolean scatter(MemoryRegion region, long address, MemorySegment source, long sourceOffset, int length) {
        long offset = address - region.address();
        if (region.isOnDemand()) {
            return OnDemandMemory.copy(source, sourceOffset, region.segment(), offset, length);
        }
        MemorySegment.copy(source, sourceOffset, region.segment(), offset, length);
        return true;
    }
}

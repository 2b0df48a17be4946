package org.nvmf4j.target;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.VerbsException;

/** Registered memory of zeroes that nobody writes: the data of every read that is known to be zero. */
final class ZeroMemory implements AutoCloseable {
    private final Arena arena = Arena.ofShared();
    private final MemoryRegion region;

    ZeroMemory(ProtectionDomain domain, int bytes) throws VerbsException {
        try {
            MemorySegment memory = arena.allocate(bytes, 4096);
            region = domain.register(memory, EnumSet.noneOf(AccessFlag.class));
        } catch (VerbsException | RuntimeException e) {
            arena.close();
            throw e;
        }
    }

    /** Lends it to a request. */
    void lendTo(Request request) {
        request.borrow(region.segment(), region.lkey());
    }

    @Override
    public void close() {
        region.close();
        arena.close();
    }
}

package org.nvmf4j.host;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.VerbsException;

/** The memory that a host has registered, by address, so that a request on any part of it needs no copy. Thread-safe. */
final class HostMemory implements AutoCloseable {
    private static final int PAGE_BYTES = 4096;

    private final ProtectionDomain domain;
    private final ConcurrentSkipListMap<Long, RegisteredBuffer> byAddress = new ConcurrentSkipListMap<>();

    HostMemory(ProtectionDomain domain) {
        this.domain = domain;
    }

    /** Page-aligned memory that is freed some time after the buffer is closed and forgotten. */
    RegisteredBuffer allocate(long lengthBytes) throws VerbsException {
        return register(Arena.ofAuto().allocate(lengthBytes, PAGE_BYTES));
    }

    RegisteredBuffer register(MemorySegment memory) throws VerbsException {
        RegisteredBuffer buffer = new RegisteredBuffer(
                domain.register(
                        memory, EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ)),
                closing -> byAddress.remove(closing.address(), closing));
        byAddress.put(buffer.address(), buffer);
        return buffer;
    }

    /** The registered buffer that has all of a segment, or null. */
    @Nullable
    RegisteredBuffer find(MemorySegment segment) {
        if (!segment.isNative()) {
            return null;
        }
        Map.Entry<Long, RegisteredBuffer> entry = byAddress.floorEntry(segment.address());
        return entry != null && entry.getValue().contains(segment) ? entry.getValue() : null;
    }

    /** Ends every registration that is left. */
    @Override
    public void close() {
        byAddress.values().forEach(RegisteredBuffer::close);
    }
}

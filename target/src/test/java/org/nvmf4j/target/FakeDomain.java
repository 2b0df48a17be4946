package org.nvmf4j.target;

import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.VerbsException;

/** A protection domain without a device that counts registrations, and has room for a few only if told so. */
final class FakeDomain implements ProtectionDomain {
    int registered;
    int room = Integer.MAX_VALUE;

    @Override
    public MemoryRegion register(MemorySegment memory, Set<AccessFlag> access) throws VerbsException {
        if (registered == room) {
            throw new VerbsException("no more room for memory regions");
        }
        registered++;
        int key = registered;
        return new MemoryRegion() {
            @Override
            public MemorySegment segment() {
                return memory;
            }

            @Override
            public int lkey() {
                return key;
            }

            @Override
            public int rkey() {
                return 0;
            }

            @Override
            public int renewRkey() {
                return 0;
            }

            @Override
            public void close() {
                registered--;
            }
        };
    }

    @Override
    public void close() {
        // Nothing is held.
    }
}

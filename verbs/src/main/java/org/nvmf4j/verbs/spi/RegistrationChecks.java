package org.nvmf4j.verbs.spi;

import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.nvmf4j.verbs.AccessFlag;

/** What a provider checks before it registers memory. */
public final class RegistrationChecks {
    /** The smallest page of any system; one with larger pages refuses to map. */
    private static final int PAGE_BYTES = 4096;

    private RegistrationChecks() {}

    /**
     * Checks what {@link org.nvmf4j.verbs.ProtectionDomain#register} was given.
     *
     * @throws IllegalArgumentException if the memory is on the heap or empty, or the rights contradict each other
     */
    public static void memory(MemorySegment memory, Set<AccessFlag> access) {
        rights(access);
        if (!memory.isNative() || memory.byteSize() == 0) {
            throw new IllegalArgumentException("only native memory of at least one byte can be registered");
        }
    }

    /**
     * Checks what {@link org.nvmf4j.verbs.ProtectionDomain#registerDmaBuf} was given.
     *
     * @throws IllegalArgumentException if the place cannot be, or the rights contradict each other
     */
    public static void dmaBuf(long offsetBytes, long lengthBytes, Set<AccessFlag> access) {
        rights(access);
        if (offsetBytes < 0 || offsetBytes % PAGE_BYTES != 0) {
            throw new IllegalArgumentException(
                    "a dma-buf is registered from a multiple of the page size on, not from " + offsetBytes);
        }
        if (lengthBytes <= 0) {
            throw new IllegalArgumentException("a dma-buf is registered by at least one byte, not " + lengthBytes);
        }
    }

    private static void rights(Set<AccessFlag> access) {
        if (access.contains(AccessFlag.REMOTE_WRITE) && !access.contains(AccessFlag.LOCAL_WRITE)) {
            throw new IllegalArgumentException("REMOTE_WRITE needs LOCAL_WRITE too");
        }
    }
}

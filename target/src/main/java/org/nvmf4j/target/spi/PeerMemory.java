package org.nvmf4j.target.spi;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Memory of a PCI device, such as an NVMe controller memory buffer, that data can pass through without crossing host memory.
 * Thread-safe; not for the I/O path: a target allocates large blocks and hands out parts of them itself.
 */
public interface PeerMemory {
    /** The PCI function that it belongs to, as {@code 0000:03:00.0}. */
    String pciAddress();

    long sizeBytes();

    /** What {@link #allocate} could give in all. */
    long freeBytes();

    /** Whether its owner, or the user who named it, offers it to everybody; other memory is never taken, chosen or not. */
    boolean isPublished();

    /** Whether the device is still there. One that has vanished does not come back as the same object. */
    boolean isPresent();

    /**
     * Counts how often what is in the memory has lost its meaning while the memory stayed, as when its controller is reset; counts both
     * before that begins and after it has ended.
     */
    default long losses() {
        return 0;
    }

    /** Who owns it, for people: a driver or a resource. */
    String publisher();

    /**
     * Takes a block.
     *
     * @return null if there is not as much free in one piece
     * @throws IOException with one line, if the memory cannot be had for another reason
     */
    @Nullable
    PeerBlock allocate(long bytes) throws IOException;
}

package org.nvmf4j.target;

import org.jspecify.annotations.Nullable;

/**
 * Where the data of a namespace passes on a controller.
 *
 * @param memory null for system memory
 * @param otherwise why it is system memory
 */
record PeerPlacement(@Nullable PortPeerMemory memory, PeerMemoryFallback otherwise) {
    static final PeerPlacement NONE = new PeerPlacement(null, PeerMemoryFallback.NOT_SELECTED);
    static final PeerPlacement VANISHED = new PeerPlacement(null, PeerMemoryFallback.VANISHED);

    static PeerPlacement in(PortPeerMemory memory) {
        return new PeerPlacement(memory, PeerMemoryFallback.NOT_SELECTED);
    }
}

package org.nvmf4j.target;

import java.util.Map;

/**
 * What a target has done with peer memory since it started.
 *
 * @param heldBytes what it holds of peer memories now, in use or not
 * @param buffers data buffers of peer memory that requests were given
 * @param bytes data of those requests
 * @param lost requests whose data was lost with a vanished device, and which ended with a status that lets hosts retry
 * @param fallbacks requests whose data passed through system memory instead, by reason; every reason is there
 */
public record PeerMemoryStatistics(
        long heldBytes, long buffers, long bytes, long lost, Map<PeerMemoryFallback, Long> fallbacks) {
    /** Copies the map. */
    public PeerMemoryStatistics {
        fallbacks = Map.copyOf(fallbacks);
    }
}

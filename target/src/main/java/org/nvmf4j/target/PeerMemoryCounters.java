package org.nvmf4j.target;

import java.util.Collection;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;

/** What a lane has done with peer memory; written by it alone, read by any thread. */
final class PeerMemoryCounters {
    private static final int BUFFERS = 0;
    private static final int BYTES = 1;
    private static final int LOST = 2;
    private static final int IN_USE = 3;
    private static final int SIZE = 4;

    private final Counts counts = new Counts(SIZE);
    private final EnumMap<PeerMemoryFallback, Counts> fallbacks = new EnumMap<>(PeerMemoryFallback.class);

    PeerMemoryCounters() {
        for (PeerMemoryFallback reason : PeerMemoryFallback.values()) {
            fallbacks.put(reason, new Counts(1));
        }
    }

    void taken(long dataBytes) {
        counts.add(BUFFERS, 1);
        counts.add(BYTES, dataBytes);
        counts.add(IN_USE, 1);
    }

    void givenBack() {
        counts.add(IN_USE, -1);
    }

    void lost() {
        counts.add(LOST, 1);
    }

    void fellBack(PeerMemoryFallback why) {
        Objects.requireNonNull(fallbacks.get(why)).add(0, 1);
    }

    /** Buffers that requests have now. */
    long inUse() {
        return counts.get(IN_USE);
    }

    static PeerMemoryStatistics sum(Collection<PeerMemoryCounters> all, long heldBytes) {
        long[] sums = new long[SIZE];
        Map<PeerMemoryFallback, Long> fallbacks = new EnumMap<>(PeerMemoryFallback.class);
        for (PeerMemoryCounters one : all) {
            for (int i = 0; i < SIZE; i++) {
                sums[i] += one.counts.get(i);
            }
            one.fallbacks.forEach((why, times) -> fallbacks.merge(why, times.get(0), Long::sum));
        }
        return new PeerMemoryStatistics(heldBytes, sums[BUFFERS], sums[BYTES], sums[LOST], fallbacks);
    }
}

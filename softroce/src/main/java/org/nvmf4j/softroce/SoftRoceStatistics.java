package org.nvmf4j.softroce;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Map;
import org.nvmf4j.roce.rc.RcStatistics;

/** Counts of one vector: its lane adds, any thread reads. */
final class SoftRoceStatistics {
    private static final VarHandle VALUE = MethodHandles.arrayElementVarHandle(long[].class);
    private static final Counter[] COUNTERS = Counter.values();

    private final long[] values = new long[COUNTERS.length];

    @SuppressWarnings("EnumOrdinal") // an index within this process, and on the data path
    private static int index(Counter counter) {
        return counter.ordinal();
    }

    /** On the lane only. */
    void add(Counter counter, long amount) {
        int i = index(counter);
        VALUE.setOpaque(values, i, values[i] + amount);
    }

    /** On the lane only. */
    void set(Counter counter, long value) {
        VALUE.setOpaque(values, index(counter), value);
    }

    /** From any thread. */
    long get(Counter counter) {
        return (long) VALUE.getOpaque(values, index(counter));
    }

    /** Adds what a queue pair counted. */
    void add(RcStatistics rc) {
        add(Counter.DROPPED_BAD_PACKET, rc.badPackets());
        add(Counter.RETRANSMITTED, rc.retransmittedPackets());
        add(Counter.TIMEOUTS, rc.timeouts());
        add(Counter.GO_BACKS, rc.goBacks());
        add(Counter.ACKS_SENT, rc.acksSent());
        add(Counter.ACKS_RECEIVED, rc.acksReceived());
        add(Counter.SEQUENCE_NAKS_SENT, rc.sequenceNaksSent());
        add(Counter.SEQUENCE_NAKS_RECEIVED, rc.sequenceNaksReceived());
        add(Counter.RNR_NAKS_SENT, rc.rnrNaksSent());
        add(Counter.RNR_NAKS_RECEIVED, rc.rnrNaksReceived());
        add(Counter.FATAL_NAKS_SENT, rc.fatalNaksSent());
        add(Counter.FATAL_NAKS_RECEIVED, rc.fatalNaksReceived());
        add(Counter.DUPLICATES, rc.duplicateRequests());
        add(Counter.OUT_OF_SEQUENCE, rc.outOfSequenceRequests());
    }

    /** Adds these counts to sums by label; from any thread. */
    void addTo(Map<String, Long> sums) {
        for (Counter counter : COUNTERS) {
            sums.merge(counter.label(), get(counter), Long::sum);
        }
    }
}

package org.nvmf4j.roce.rc;

/**
 * The time from a request packet to its acknowledgement or first response, estimated as RFC 6298 does. One packet at a time is timed,
 * and never one that may have been sent twice (Karn's rule): nobody knows which of the two was answered.
 */
final class RoundTrip {
    private static final long NONE = -1;

    private long timedPsn = NONE;
    private long sentNanos;
    private long smoothedNanos = NONE;
    private long variationNanos;

    /** A packet that asks for an answer leaves for the first time. */
    void onTransmit(long psn, long nowNanos) {
        if (timedPsn == NONE) {
            timedPsn = psn;
            sentNanos = nowNanos;
        }
    }

    /** Packets are sent again, perhaps the one that is being timed. */
    void onRetransmission() {
        timedPsn = NONE;
    }

    /**
     * Notes that everything before {@code unacknowledged} has been answered.
     *
     * @return whether that gave a sample
     */
    boolean onAnswer(long unacknowledged, long nowNanos) {
        if (timedPsn == NONE || timedPsn >= unacknowledged) {
            return false;
        }
        timedPsn = NONE;
        long sample = nowNanos - sentNanos;
        if (smoothedNanos == NONE) {
            smoothedNanos = sample;
            variationNanos = sample / 2;
        } else {
            variationNanos += (Math.abs(smoothedNanos - sample) - variationNanos) / 4;
            smoothedNanos += (sample - smoothedNanos) / 8;
        }
        return true;
    }

    /** What an answer hardly ever takes; only after a sample. */
    long timeoutNanos(long marginNanos) {
        return smoothedNanos + Math.max(4 * variationNanos, marginNanos);
    }
}

package org.nvmf4j.roce.rc;

import org.nvmf4j.roce.wire.Psn;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.spi.MemoryTable;

/**
 * What both halves of a queue pair share. A half that meets a fatal error completes the work request at fault and calls
 * {@link #fail}; the queue pair then moves to the error state and flushes the rest before its public method returns.
 */
final class RcContext {
    final int number;
    final RcTuning tuning;
    final ProtectionDomain domain;
    final MemoryTable memory;
    final CompletionSink completions;
    final RcStatistics statistics = new RcStatistics();

    int remoteNumber;
    int mtuBytes;
    private int mtuShift;
    private int reportedMsn;
    private boolean failed;

    RcContext(int number, RcTuning tuning, ProtectionDomain domain, MemoryTable memory, CompletionSink completions) {
        this.number = number;
        this.tuning = tuning;
        this.domain = domain;
        this.memory = memory;
        this.completions = completions;
    }

    void connect(RcParameters parameters) {
        remoteNumber = parameters.remoteQueuePairNumber();
        mtuBytes = parameters.pathMtuBytes();
        mtuShift = Integer.numberOfTrailingZeros(mtuBytes);
    }

    void fail() {
        failed = true;
    }

    boolean failed() {
        return failed;
    }

    /** PSNs that a message of so many bytes takes. */
    int packets(long lengthBytes) {
        return lengthBytes == 0 ? 1 : (int) ((lengthBytes + mtuBytes - 1) >>> mtuShift);
    }

    /**
     * The MSN to put into a response: what it wants to say, but never less than was said before. Only repeated RDMA READs
     * can want that, whose responses leave before those of younger ones.
     */
    int reportMsn(int msn) {
        if (Psn.isAfter(msn, reportedMsn)) {
            reportedMsn = msn;
        }
        return reportedMsn;
    }

    /** Payload bytes of so many full packets. */
    long bytes(long packets) {
        return packets << mtuShift;
    }

    /**
     * The 24 bits of a PSN from the wire as a number that never wraps, the one nearest to {@code reference}. All PSNs inside the
     * state machines are such numbers, so that they compare as plain longs.
     */
    static long unwrap(int psn, long reference) {
        return reference + Psn.diff(psn, (int) reference);
    }
}

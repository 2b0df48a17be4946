package org.nvmf4j.roce.rc;

/**
 * The requester's two timers and its retry budgets.
 *
 * <p>The retransmission timer follows the {@linkplain RoundTrip round trip} and doubles with each timeout up to the ACK timeout, as
 * adaptive retransmission of hardware does, so that a lost last packet costs milliseconds, and a peer that takes longer than that
 * is waited for. What has doubled stays until the next sample: progress alone tells nothing of the round trip. A peer is given up
 * when the timer has expired more often than the retry count allows <em>and</em> as much time has passed without progress as {@code
 * retryCount + 1} ACK timeouts take: never sooner than with a constant timer, and not by one long pause of this process alone.
 */
final class RetryTimer {
    static final long NONE = Long.MAX_VALUE;

    private static final int INFINITE_RNR_RETRIES = 7;

    private final RcTuning tuning;
    private final RoundTrip roundTrip = new RoundTrip();
    private long ackTimeoutNanos;
    private int retryCount;
    private int rnrRetryCount;

    private long timeoutNanos;
    private long deadline = NONE;
    private long stalledSince;
    private int timeouts;
    private int rnrRetries;
    private boolean waitingForReceiver;
    private long receiverDeadline;

    RetryTimer(RcTuning tuning) {
        this.tuning = tuning;
    }

    void connect(RcParameters parameters) {
        ackTimeoutNanos = parameters.ackTimeoutNanos();
        long firstNanos = tuning.firstTimeoutNanos();
        timeoutNanos = firstNanos == 0 ? ackTimeoutNanos : Math.min(firstNanos, ackTimeoutNanos);
        retryCount = parameters.retryCount();
        rnrRetryCount = parameters.rnrRetryCount();
    }

    /** A request packet leaves: the timer runs from the oldest one that is not acknowledged. */
    void onTransmit(long nowNanos) {
        if (deadline == NONE && ackTimeoutNanos != 0) {
            deadline = nowNanos + timeoutNanos;
            if (timeouts == 0) {
                stalledSince = nowNanos;
            }
        }
    }

    /** A packet that asks for an answer leaves for the first time. */
    void onFirstTransmit(long psn, long nowNanos) {
        roundTrip.onTransmit(psn, nowNanos);
    }

    /** Something new was acknowledged, now everything before {@code unacknowledged}; budgets start afresh. */
    void onProgress(long unacknowledged, boolean outstanding, long nowNanos) {
        timeouts = 0;
        rnrRetries = 0;
        waitingForReceiver = false;
        if (roundTrip.onAnswer(unacknowledged, nowNanos)) {
            timeoutNanos = Math.min(roundTrip.timeoutNanos(tuning.timeoutMarginNanos()), ackTimeoutNanos);
        }
        stalledSince = nowNanos;
        deadline = outstanding && ackTimeoutNanos != 0 ? nowNanos + timeoutNanos : NONE;
    }

    /** The requester goes back: the timer runs again from the next transmission. */
    void onGoBack() {
        roundTrip.onRetransmission();
        deadline = NONE;
    }

    /**
     * Notes an expiry of the retransmission timer.
     *
     * @return whether to retry; otherwise the peer is given up
     */
    boolean onTimeout(long nowNanos) {
        timeouts++;
        onGoBack();
        timeoutNanos = Math.min(2 * timeoutNanos, ackTimeoutNanos);
        return timeouts <= retryCount || nowNanos - stalledSince < (retryCount + 1) * ackTimeoutNanos;
    }

    /**
     * Notes an RNR NAK, which is a sign of life but no progress.
     *
     * @return whether to retry after the wait; otherwise the peer is given up
     */
    boolean onRnrNak(long waitNanos, long nowNanos) {
        if (rnrRetryCount != INFINITE_RNR_RETRIES && ++rnrRetries > rnrRetryCount) {
            return false;
        }
        timeouts = 0;
        onGoBack();
        waitingForReceiver = true;
        receiverDeadline = nowNanos + waitNanos;
        return true;
    }

    /** Whether nothing may be sent because the peer has no receive posted. */
    boolean waitingForReceiver() {
        return waitingForReceiver;
    }

    /** Ends the wait for the peer's receives once its time has come. */
    void endWait(long nowNanos) {
        if (waitingForReceiver && nowNanos >= receiverDeadline) {
            waitingForReceiver = false;
        }
    }

    boolean expired(long nowNanos) {
        return nowNanos >= deadline && deadline != NONE;
    }

    long nextDeadlineNanos() {
        return waitingForReceiver ? Math.min(receiverDeadline, deadline) : deadline;
    }
}

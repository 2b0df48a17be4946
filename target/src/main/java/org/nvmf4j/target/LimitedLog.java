package org.nvmf4j.target;

/** Warnings about what peers do, at most ten in ten seconds: nobody may fill a disk from outside. Thread-safe. */
final class LimitedLog {
    private static final int MESSAGES = 10;
    private static final long PERIOD_NANOS = 10_000_000_000L;

    private final System.Logger logger;
    private long periodBeganNanos = System.nanoTime();
    private int messages;
    private long suppressed;

    LimitedLog(System.Logger logger) {
        this.logger = logger;
    }

    void warning(String message) {
        long before = admit(System.nanoTime());
        if (before >= 0) {
            String more = before == 0 ? "" : " (and " + before + " other warnings before)";
            logger.log(System.Logger.Level.WARNING, message + more);
        }
    }

    /** How many messages were suppressed before this one, or -1 if this one is, too. */
    synchronized long admit(long nowNanos) {
        if (nowNanos - periodBeganNanos >= PERIOD_NANOS) {
            periodBeganNanos = nowNanos;
            messages = 0;
        }
        if (messages == MESSAGES) {
            suppressed++;
            return -1;
        }
        messages++;
        long before = suppressed;
        suppressed = 0;
        return before;
    }
}

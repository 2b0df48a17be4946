package org.nvmf4j.target;

/** What peers bring about, at most so many messages in ten seconds: nobody may fill a disk from outside. Thread-safe. */
final class LimitedLog {
    private static final int USUAL_MESSAGES = 10;
    private static final long PERIOD_NANOS = 10_000_000_000L;

    private final System.Logger logger;
    private final int mostMessages;
    private long periodBeganNanos = System.nanoTime();
    private int messages;
    private long suppressed;

    LimitedLog(System.Logger logger) {
        this(logger, USUAL_MESSAGES);
    }

    LimitedLog(System.Logger logger, int mostMessages) {
        this.logger = logger;
        this.mostMessages = mostMessages;
    }

    void warning(String message) {
        log(System.Logger.Level.WARNING, message);
    }

    void log(System.Logger.Level level, String message) {
        long before = admit(System.nanoTime());
        if (before >= 0) {
            String more = before == 0 ? "" : " (and " + before + " other messages before)";
            logger.log(level, message + more);
        }
    }

    /** How many messages were suppressed before this one, or -1 if this one is, too. */
    synchronized long admit(long nowNanos) {
        if (nowNanos - periodBeganNanos >= PERIOD_NANOS) {
            periodBeganNanos = nowNanos;
            messages = 0;
        }
        if (messages == mostMessages) {
            suppressed++;
            return -1;
        }
        messages++;
        long before = suppressed;
        suppressed = 0;
        return before;
    }
}

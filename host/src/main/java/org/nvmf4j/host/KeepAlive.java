package org.nvmf4j.host;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.nvmf4j.nvme.NvmeStatus;

/**
 * Decides when an association sends Keep Alive: twice in a keep-alive timeout, or, where the controller counts any command as a sign
 * of life (TBKAS), four times but only after a period without an answer to any command. Sans I/O: time comes in, and what to do goes out.
 */
final class KeepAlive {
    /** What is to be done now. */
    enum Action {
        NONE,
        SEND,
        /** The controller did not answer within the keep-alive timeout. */
        EXPIRED
    }

    private final long timeoutNanos;
    private final long intervalNanos;
    private final boolean trafficBased;
    private final LongSupplier completedCommands;
    private long nextNanos;
    private long lastCompleted;
    private boolean outstanding;

    /**
     * Starts the timer.
     *
     * @param timeoutMillis the keep-alive timeout that the controller was told, above 0
     * @param completedCommands commands of all queues that the controller has answered, only ever growing
     */
    KeepAlive(int timeoutMillis, boolean trafficBased, LongSupplier completedCommands, long nowNanos) {
        this.timeoutNanos = TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        this.intervalNanos = trafficBased ? timeoutNanos / 4 : timeoutNanos / 2;
        this.trafficBased = trafficBased;
        this.completedCommands = completedCommands;
        this.nextNanos = nowNanos + intervalNanos;
        this.lastCompleted = completedCommands.getAsLong();
    }

    /** To be called when {@link #nextDeadlineNanos} has come. */
    Action onTime(long nowNanos) {
        if (nowNanos - nextNanos < 0) {
            return Action.NONE;
        }
        if (outstanding) {
            return Action.EXPIRED;
        }
        long completed = completedCommands.getAsLong();
        boolean alive = trafficBased && completed != lastCompleted;
        lastCompleted = completed;
        if (alive) {
            nextNanos = nowNanos + intervalNanos;
            return Action.NONE;
        }
        outstanding = true;
        nextNanos = nowNanos + timeoutNanos;
        return Action.SEND;
    }

    /**
     * The controller has answered.
     *
     * @return whether it is well
     */
    boolean onAnswer(int status, long nowNanos) {
        outstanding = false;
        nextNanos = nowNanos + intervalNanos;
        return NvmeStatus.isSuccess(status);
    }

    long nextDeadlineNanos() {
        return nextNanos;
    }
}

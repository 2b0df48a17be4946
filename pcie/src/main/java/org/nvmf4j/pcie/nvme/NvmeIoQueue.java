package org.nvmf4j.pcie.nvme;

import org.nvmf4j.nvme.NvmeStatus;

/**
 * An I/O queue pair as the lane has it that owns it. The controller's {@linkplain NvmeController control thread} gives orders, which the
 * lane follows in its next {@link #poll}: to run; to stop, before a reset; to end what is outstanding, when the controller has been
 * stopped and touches no memory any more. Each side writes its own volatile field and reads the other's; commands take no lock.
 */
public final class NvmeIoQueue implements AutoCloseable {
    /** How often a lane looks whether a command is overdue. */
    private static final long LOOK_NANOS = 10_000_000;

    private static final long NONE = -1;

    /** What the control thread wants. */
    private enum Order {
        RUN,
        STOP,
        END
    }

    /** What the lane has done about it. */
    private enum State {
        RUNNING,
        /** The lane touches neither doorbells nor queues; its commands are outstanding. */
        STOPPED,
        /** Nothing is outstanding, and the queues are as new. */
        ENDED,
        /** The lane needs it no more. */
        CLOSED
    }

    private final NvmeQueue queue;
    private final Runnable wakeUp;
    private volatile Order order = Order.END;
    private volatile int endStatus;
    private volatile boolean unusable;
    private volatile State state = State.ENDED;
    private volatile long overdue = NONE;
    private volatile boolean faulty;
    /** Whether the controller knows the queue; the control thread's. */
    boolean created;

    private long nextLookNanos;
    private long overdueSequence;

    /**
     * Does not run yet.
     *
     * @param wakeUp has the lane poll soon; from any thread
     */
    NvmeIoQueue(NvmeQueue queue, Runnable wakeUp) {
        this.queue = queue;
        this.wakeUp = wakeUp;
    }

    // The lane's.

    /** The queue, to submit commands to as long as it {@link #isRunning}. */
    public NvmeQueue queue() {
        return queue;
    }

    /** Whether commands can be submitted; changes in {@link #poll} alone. */
    public boolean isRunning() {
        return state == State.RUNNING;
    }

    /** Whether it will never run again: the controller has gone, or cannot be used any more. */
    public boolean isUnusable() {
        return unusable;
    }

    /**
     * Takes what has ended, by the controller or by a reset, and follows the control thread.
     *
     * @return 0 if there was nothing to do
     */
    public int poll(long nowNanos, NvmeQueue.Handler handler) {
        Order wanted = order;
        return switch (state) {
            case RUNNING -> pollRunning(wanted, nowNanos, handler);
            case STOPPED -> wanted == Order.END ? end(handler) : 0;
            case ENDED -> wanted == Order.RUN ? start(nowNanos) : 0;
            case CLOSED -> 0;
        };
    }

    private int pollRunning(Order wanted, long nowNanos, NvmeQueue.Handler handler) {
        if (wanted == Order.END) {
            return end(handler);
        }
        int count = take(handler);
        if (wanted == Order.STOP) {
            state = State.STOPPED;
        } else if (nowNanos - nextLookNanos >= 0) {
            look(nowNanos);
        }
        return count;
    }

    private int start(long nowNanos) {
        nextLookNanos = nowNanos;
        state = State.RUNNING;
        if (order != Order.RUN) {
            state = State.ENDED; // a reset has begun, and may have seen the state before
            return 0;
        }
        return 1;
    }

    private int take(NvmeQueue.Handler handler) {
        try {
            return queue.poll(handler, true);
        } catch (NvmeDeviceException e) {
            faulty = true;
            return 1;
        }
    }

    /** What the controller has ended before it was stopped ends like that, the rest by the reset. */
    private int end(NvmeQueue.Handler handler) {
        int count = queue.outstanding();
        try {
            queue.poll(handler, false);
        } catch (NvmeDeviceException e) {
            // The reset has begun already.
        }
        queue.endAll(endStatus, handler);
        queue.clear();
        overdue = NONE;
        faulty = false;
        state = State.ENDED;
        return count + 1;
    }

    private void look(long nowNanos) {
        nextLookNanos = nowNanos + LOOK_NANOS;
        int known = overdueSlot();
        if (known >= 0 && queue.isOverdue(known, nowNanos)) {
            return;
        }
        int slot = queue.overdue(nowNanos);
        overdue = slot < 0 ? NONE : ++overdueSequence << 16 | slot;
    }

    /** The lane needs it no more; nothing may be outstanding. */
    @Override
    public void close() {
        if (queue.outstanding() > 0) {
            throw new IllegalStateException("queue " + queue.qid() + " has " + queue.outstanding() + " commands");
        }
        state = State.CLOSED;
    }

    // The control thread's.

    int qid() {
        return queue.qid();
    }

    void run() {
        order = Order.RUN;
        wakeUp.run();
    }

    void stop() {
        if (order == Order.RUN) {
            order = Order.STOP;
            wakeUp.run();
        }
    }

    /**
     * The controller touches no memory any more.
     *
     * @param status of commands that are outstanding, see {@link NvmeStatus}
     */
    void end(int status) {
        endStatus = status;
        order = Order.END;
        wakeUp.run();
    }

    /** The same, for good. */
    void endForGood(int status) {
        unusable = true;
        end(status);
    }

    /** Whether the lane may touch the queues still. */
    boolean mayTouch() {
        return order != Order.RUN && state == State.RUNNING;
    }

    /** Whether the lane waits for the queue to be created. */
    boolean isReadyToRun() {
        return order == Order.END && state == State.ENDED && !unusable;
    }

    boolean isClosed() {
        return state == State.CLOSED;
    }

    /** Whether the controller has ended a command that was not outstanding. */
    boolean isFaulty() {
        return faulty;
    }

    /** A command that takes too long, as a number that no other has, or -1; its slot is {@link #overdueSlot}. */
    long overdue() {
        return overdue;
    }

    int overdueSlot() {
        long late = overdue;
        return late == NONE ? -1 : (int) (late & 0xffff);
    }
}

package org.nvmf4j.host;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.CompletionVector;
import org.nvmf4j.verbs.IdleStrategy;
import org.nvmf4j.verbs.Lane;

/**
 * A lane with either a thread of its own or a caller's, and the one way to wait for it: a blocking call on a lane without a thread
 * runs the lane's cycle meanwhile.
 */
final class HostLane implements AutoCloseable {
    private static final long IDLE_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long SPIN_NANOS = TimeUnit.MICROSECONDS.toNanos(50);

    private final Lane lane;
    private final boolean ownThread;
    private @Nullable Thread caller;
    private boolean started;
    private int users;

    HostLane(CompletionVector vector, IdleStrategy idle, boolean ownThread) {
        this.lane = new Lane(vector, idle);
        this.ownThread = ownThread;
    }

    /** Starts the lane's own thread, if it is to have one and has not. */
    synchronized void start() {
        if (ownThread && !started) {
            started = true;
            lane.start("nvmf-host-" + vector());
        }
    }

    Lane lane() {
        return lane;
    }

    int vector() {
        return lane.vector().index();
    }

    boolean hasOwnThread() {
        return ownThread;
    }

    /** Makes the calling thread the owner of a lane without a thread, unless another live thread is. */
    synchronized boolean tryClaim() {
        Thread current = Thread.currentThread();
        if (ownThread) {
            return false;
        }
        if (caller == null || !caller.isAlive()) {
            caller = current;
        }
        return caller == current;
    }

    private void claim() {
        if (!tryClaim()) {
            throw new IllegalStateException("completion vector " + vector() + " belongs to thread "
                    + (caller == null ? "?" : caller.getName()) + "; use it on that thread, or open the host with "
                    + ThreadingMode.LANE_THREADS);
        }
    }

    /** Queues of the claiming thread on this lane; guarded by the host. */
    int users() {
        return users;
    }

    void addUser(int change) {
        users += change;
    }

    /** Gives up a {@linkplain #tryClaim claimed} lane, so that another thread may take it. */
    synchronized void release() {
        if (caller == Thread.currentThread()) {
            caller = null;
        }
    }

    /** Runs a task on the lane; if the lane is closed already, it does not run. */
    void execute(Runnable task) {
        lane.execute(task);
    }

    /**
     * As {@link #execute}, but on a closed lane, where no queue is left, does nothing.
     *
     * @return whether the lane will run it
     */
    boolean executeIfOpen(Runnable task) {
        try {
            lane.execute(task);
            return true;
        } catch (RejectedExecutionException e) {
            return false;
        }
    }

    /** Waits as {@link #await(CompletableFuture, Runnable)} with nothing else to do. */
    <T> T await(CompletableFuture<T> future) throws ExecutionException {
        return await(future, () -> {});
    }

    /**
     * Waits for something that this lane completes. Not interruptible: a request's memory belongs to the device until it has ended,
     * and every request ends within its time limit. An interrupt is kept for the caller.
     *
     * @param eachCycle what a lane without a thread of its own does besides its cycle meanwhile
     */
    <T> T await(CompletableFuture<T> future, Runnable eachCycle) throws ExecutionException {
        if (!ownThread) {
            claim();
            drive(future, eachCycle);
        } else if (lane.isOwnThread() && !future.isDone()) {
            throw new IllegalStateException(
                    "a blocking call on the lane's own thread would wait for itself; use the asynchronous form in callbacks");
        }
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return future.get();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void drive(CompletableFuture<?> future, Runnable eachCycle) {
        long idleSince = 0;
        while (!future.isDone()) {
            int work = lane.doWork();
            eachCycle.run();
            if (work > 0) {
                idleSince = 0;
                continue;
            }
            long now = System.nanoTime();
            if (idleSince == 0) {
                idleSince = now;
            } else if (now - idleSince > SPIN_NANOS && !future.isDone()) {
                lane.vector().awaitWork(IDLE_WAIT_NANOS);
            }
        }
    }

    /** Waits at most so long, for a lane that another thread runs; false if the time is over. */
    boolean awaitElsewhere(CompletableFuture<?> future, long timeoutMillis) throws ExecutionException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    future.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
                    return true;
                } catch (InterruptedException e) {
                    interrupted = true;
                } catch (TimeoutException e) {
                    return false;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** One cycle on the calling thread, which must own the lane. */
    int doWork() {
        return lane.doWork();
    }

    @Override
    public void close() {
        lane.close();
    }
}

package org.nvmf4j.verbs;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jctools.queues.varhandle.MpscUnboundedVarHandleArrayQueue;
import org.jspecify.annotations.Nullable;

/**
 * The one owner of a completion vector and of all that hangs on it. One thread runs the duty cycle: {@linkplain
 * CompletionVector#progress the vector}, tasks from other threads, agents. It is either a thread of the lane's own ({@link
 * #start}) or a caller's that calls {@link #doWork} again and again; the code that runs is the same.
 */
public final class Lane implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(Lane.class.getName());

    /** How often failures are logged at most: one that comes in every cycle must not fill a disk. */
    private static final long LOG_INTERVAL_NANOS = 1_000_000_000;

    private final CompletionVector vector;
    private final IdleStrategy idle;
    private final MpscUnboundedVarHandleArrayQueue<Runnable> tasks = new MpscUnboundedVarHandleArrayQueue<>(64);
    /** Callers that are within {@link #execute}: the thread does not end before it has seen their tasks. */
    private final AtomicInteger executing = new AtomicInteger();

    private final List<Agent> agents = new ArrayList<>();
    private int nextAgent;
    private int agentsLeft;

    private volatile @Nullable Thread thread;
    private volatile boolean closed;
    private boolean isIdle;
    private long idleSinceNanos;
    private long failures;
    private long failuresLogged;
    private long lastLogNanos;

    public Lane(CompletionVector vector, IdleStrategy idle) {
        this.vector = vector;
        this.idle = idle;
    }

    public CompletionVector vector() {
        return vector;
    }

    /** Adds work to the cycle, from the next one on; on the lane only. */
    public void add(Agent agent) {
        agents.add(agent);
    }

    /**
     * Takes it out again, and it is not called any more; on the lane only, and so also from within any agent's {@link
     * Agent#doWork}.
     */
    public void remove(Agent agent) {
        int i = agents.indexOf(agent);
        if (i >= 0) {
            agents.remove(i);
            if (i < nextAgent) {
                nextAgent--;
            } else {
                agentsLeft--;
            }
        }
    }

    /**
     * Has the lane run a task in its next cycle; from any thread, also from the lane itself. Tasks of one thread run in order; one
     * that was taken runs, however close a {@link #close} is.
     *
     * @throws RejectedExecutionException if the lane is closed
     */
    public void execute(Runnable task) {
        executing.incrementAndGet();
        try {
            if (closed) {
                throw new RejectedExecutionException("the lane is closed");
            }
            tasks.offer(task);
        } finally {
            executing.decrementAndGet();
        }
        vector.wakeUp();
    }

    /** Whether the calling thread is the lane's own. */
    public boolean isOwnThread() {
        return Thread.currentThread() == thread;
    }

    /**
     * One duty cycle; called by the owner only, not from within the cycle. What a handler, task or agent throws comes out here; the
     * next call goes on behind it.
     *
     * @return 0 if there was nothing to do
     */
    public int doWork() {
        int work = vector.progress();
        // Only those that are there now: a task that executes another must not keep the vector waiting.
        for (int left = tasks.size(); left > 0; left--) {
            Runnable task = tasks.relaxedPoll();
            if (task == null) {
                break; // the next one is still being put in
            }
            task.run();
            work++;
        }
        if (!agents.isEmpty()) {
            work += runAgents(System.nanoTime());
        }
        return work;
    }

    /** Runs each agent once; where one threw the last time, beginning behind it, so that the others have their turn. */
    private int runAgents(long nowNanos) {
        int work = 0;
        for (agentsLeft = agents.size(); agentsLeft > 0; ) {
            if (nextAgent >= agents.size()) {
                nextAgent = 0;
            }
            agentsLeft--;
            work += agents.get(nextAgent++).doWork(nowNanos);
        }
        nextAgent = 0;
        return work;
    }

    /**
     * Starts a daemon thread that runs the cycle until {@link #close}. There what is thrown is logged, and the cycle goes on.
     *
     * @throws IllegalStateException if it was started or closed before
     */
    public synchronized void start(String name) {
        if (thread != null || closed) {
            throw new IllegalStateException(closed ? "the lane is closed" : "the lane runs already");
        }
        Thread t = Thread.ofPlatform().daemon().name(name).unstarted(this::run);
        thread = t;
        t.start();
    }

    private void run() {
        while (!(closed && executing.get() == 0 && tasks.isEmpty())) {
            try {
                if (doWork() > 0) {
                    isIdle = false;
                } else {
                    idle();
                }
            } catch (RuntimeException | Error e) {
                // A lane carries many connections: one user's fault must not end the others.
                logFailure(e);
            }
        }
    }

    private void logFailure(Throwable failure) {
        failures++;
        long now = System.nanoTime();
        if (failuresLogged == 0 || now - lastLogNanos >= LOG_INTERVAL_NANOS) {
            long unseen = failures - failuresLogged - 1;
            LOG.log(
                    System.Logger.Level.ERROR,
                    "unexpected failure on lane " + Thread.currentThread().getName()
                            + (unseen > 0 ? ", and " + unseen + " more since the last one logged" : ""),
                    failure);
            failuresLogged = failures;
            lastLogNanos = now;
        }
    }

    private void idle() {
        long now = System.nanoTime();
        if (!isIdle) {
            isIdle = true;
            idleSinceNanos = now;
        }
        long idleNanos = now - idleSinceNanos;
        if (idleNanos < idle.spinNanos()) {
            Thread.onSpinWait();
        } else if (idle.maxParkNanos() == 0 || idleNanos - idle.spinNanos() < idle.yieldNanos()) {
            Thread.yield();
        } else {
            long wait = Math.min(idle.maxParkNanos(), untilNextDeadline(now));
            if (wait > 0 && tasks.isEmpty() && !closed) {
                vector.awaitWork(wait);
                Thread.interrupted(); // means nothing here, and would make every further wait return at once
            }
        }
    }

    private long untilNextDeadline(long nowNanos) {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < agents.size(); i++) {
            long deadline = agents.get(i).nextDeadlineNanos();
            if (deadline != Agent.NO_DEADLINE) {
                least = Math.min(least, deadline - nowNanos);
            }
        }
        return least;
    }

    /**
     * Refuses further tasks, lets the cycle run those that it took and ends its thread; waits for that unless called on the lane.
     * Where a caller runs the cycle it has to go on with {@link #doWork} until no task is left.
     */
    @Override
    public void close() {
        Thread t;
        synchronized (this) {
            closed = true;
            t = thread;
        }
        if (t == null || t == Thread.currentThread()) {
            return;
        }
        boolean interrupted = false;
        while (t.isAlive()) {
            vector.wakeUp();
            try {
                t.join(100);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}

package org.nvmf4j.verbs;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.LockSupport;
import org.jctools.queues.varhandle.MpscUnboundedVarHandleArrayQueue;
import org.jspecify.annotations.Nullable;

/**
 * The one owner of a completion vector and of all that hangs on it. One thread runs the duty cycle: {@linkplain
 * CompletionVector#progress the vector}, tasks from other threads, agents. It is either a thread of the lane's own ({@link
 * #start}) or a caller's that calls {@link #doWork} again and again; the code that runs is the same.
 */
public final class Lane implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(Lane.class.getName());

    private final CompletionVector vector;
    private final IdleStrategy idle;
    private final MpscUnboundedVarHandleArrayQueue<Runnable> tasks = new MpscUnboundedVarHandleArrayQueue<>(64);
    private final List<Agent> agents = new ArrayList<>();
    private volatile @Nullable Thread thread;
    private volatile boolean closed;
    private boolean running;
    private long idleSinceNanos;

    public Lane(CompletionVector vector, IdleStrategy idle) {
        this.vector = vector;
        this.idle = idle;
    }

    public CompletionVector vector() {
        return vector;
    }

    /** Adds work to the cycle; on the lane only. */
    public void add(Agent agent) {
        agents.add(agent);
    }

    /** Takes it out again; on the lane only, and so also from within the agent's own {@link Agent#doWork}. */
    public void remove(Agent agent) {
        int i = agents.indexOf(agent);
        if (i >= 0) {
            agents.remove(i);
        }
    }

    /**
     * Has the lane run a task in its next cycle; from any thread, also from the lane itself.
     *
     * @throws RejectedExecutionException if the lane is closed
     */
    public void execute(Runnable task) {
        if (closed) {
            throw new RejectedExecutionException("the lane is closed");
        }
        tasks.offer(task);
        vector.wakeUp();
    }

    /** Whether the calling thread is the lane's own. */
    public boolean isOwnThread() {
        return Thread.currentThread() == thread;
    }

    /**
     * One duty cycle; called by the owner only.
     *
     * @return 0 if there was nothing to do
     */
    public int doWork() {
        int work = vector.progress();
        for (Runnable task = tasks.relaxedPoll(); task != null; task = tasks.relaxedPoll()) {
            task.run();
            work++;
        }
        if (!agents.isEmpty()) {
            long now = System.nanoTime();
            for (int i = agents.size() - 1; i >= 0; i--) {
                if (i < agents.size()) { // an agent may have removed others
                    work += agents.get(i).doWork(now);
                }
            }
        }
        return work;
    }

    /** Starts a daemon thread that runs the cycle until {@link #close}. */
    public void start(String name) {
        if (thread != null) {
            throw new IllegalStateException("the lane runs already");
        }
        Thread t = Thread.ofPlatform().daemon().name(name).unstarted(this::run);
        thread = t;
        t.start();
    }

    private void run() {
        running = true;
        while (running) {
            int work;
            try {
                work = doWork();
            } catch (RuntimeException | Error e) {
                // A lane carries many connections: one user's fault must not end the others.
                LOG.log(
                        System.Logger.Level.ERROR,
                        "unexpected failure on lane " + Thread.currentThread().getName(),
                        e);
                work = 1;
            }
            if (work > 0) {
                idleSinceNanos = 0;
            } else {
                idle();
            }
            if (closed && tasks.isEmpty()) {
                running = false;
            }
        }
    }

    private void idle() {
        long now = System.nanoTime();
        if (idleSinceNanos == 0) {
            idleSinceNanos = now;
        }
        long idleNanos = now - idleSinceNanos;
        if (idleNanos < idle.spinNanos()) {
            Thread.onSpinWait();
        } else if (idle.maxParkNanos() == 0 || idleNanos - idle.spinNanos() < idle.yieldNanos()) {
            Thread.yield();
        } else {
            long wait = idle.maxParkNanos();
            for (int i = 0; i < agents.size(); i++) {
                long deadline = agents.get(i).nextDeadlineNanos();
                if (deadline != Agent.NO_DEADLINE) {
                    wait = Math.min(wait, deadline - now);
                }
            }
            if (wait > 0 && tasks.isEmpty()) {
                vector.awaitWork(wait);
            }
        }
    }

    /** Lets the cycle finish its tasks and ends its thread; waits for it unless called on the lane. */
    @Override
    public void close() {
        closed = true;
        Thread t = thread;
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
                LockSupport.parkNanos(1);
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}

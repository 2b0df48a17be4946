package org.nvmf4j.target.backend;

import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.jctools.queues.varhandle.MpmcVarHandleArrayQueue;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.target.spi.BackendRequest;
import org.nvmf4j.target.spi.BackendStatus;

/**
 * A few threads that do requests that may block. Lanes hand requests over through one lock-free queue without allocating; a thread
 * sleeps when there is nothing to do, except that one at a time spins a little first, because waking one takes tens of microseconds.
 */
final class BackendThreads {
    /** Does one request, in whatever time it takes. */
    interface Work {
        BackendStatus perform(BackendRequest request, int threadIndex);
    }

    private static final System.Logger LOG = System.getLogger(BackendThreads.class.getName());
    private static final int QUEUE_CAPACITY = 1 << 14;
    private static final long SPIN_NANOS = 20_000;

    private final MpmcVarHandleArrayQueue<BackendRequest> queue = new MpmcVarHandleArrayQueue<>(QUEUE_CAPACITY);
    private final AtomicBoolean spinning = new AtomicBoolean();
    private final Worker[] workers;
    private final Work work;
    private volatile boolean closed;

    BackendThreads(String name, int threads, Work work) {
        this.work = work;
        workers = new Worker[threads];
        for (int i = 0; i < threads; i++) {
            workers[i] = new Worker(i, name + "-" + i);
        }
    }

    void start() {
        for (Worker worker : workers) {
            worker.thread.start();
        }
    }

    int size() {
        return workers.length;
    }

    /** Takes a request; false if too many are waiting, and then the caller may do it itself. */
    boolean submit(BackendRequest request) {
        if (!queue.offer(request)) {
            return false;
        }
        // The offer must be visible before the workers' flags are read: a worker sets its flag and then looks at the
        // queue again.
        VarHandle.fullFence();
        wakeOne();
        return true;
    }

    private void wakeOne() {
        if (spinning.get()) {
            return; // it looks at the queue again before it sleeps
        }
        for (Worker worker : workers) {
            if (worker.asleep.get() && worker.asleep.compareAndSet(true, false)) {
                LockSupport.unpark(worker.thread);
                return;
            }
        }
    }

    /** Ends the threads once the queue is empty, and waits for them. */
    void close() {
        closed = true;
        boolean interrupted = false;
        for (Worker worker : workers) {
            while (worker.thread.isAlive()) {
                worker.asleep.set(false);
                LockSupport.unpark(worker.thread);
                try {
                    worker.thread.join(100);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private final class Worker {
        final AtomicBoolean asleep = new AtomicBoolean();
        final Thread thread;
        private final int index;

        Worker(int index, String name) {
            this.index = index;
            this.thread = Thread.ofPlatform().daemon().name(name).unstarted(this::run);
        }

        private void run() {
            while (true) {
                BackendRequest request = queue.poll();
                if (request == null) {
                    request = await();
                    if (request == null) {
                        return;
                    }
                }
                if (!queue.isEmpty()) {
                    wakeOne();
                }
                request.complete(perform(request));
            }
        }

        private BackendStatus perform(BackendRequest request) {
            try {
                return work.perform(request, index);
            } catch (RuntimeException | Error e) {
                LOG.log(System.Logger.Level.ERROR, "unexpected failure of a " + request.operation(), e);
                return BackendStatus.INTERNAL_ERROR;
            }
        }

        /** Spins if nobody does, then sleeps; null at the end. */
        private @Nullable BackendRequest await() {
            if (spinning.compareAndSet(false, true)) {
                BackendRequest request = spin();
                spinning.set(false);
                if (request != null) {
                    return request;
                }
            }
            while (true) {
                asleep.set(true);
                BackendRequest request = queue.poll();
                if (request != null) {
                    asleep.set(false);
                    return request;
                }
                if (closed) {
                    return null;
                }
                while (asleep.get() && !closed) {
                    LockSupport.park(this);
                }
            }
        }

        private @Nullable BackendRequest spin() {
            long start = System.nanoTime();
            do {
                BackendRequest request = queue.poll();
                if (request != null) {
                    return request;
                }
                Thread.onSpinWait();
            } while (System.nanoTime() - start < SPIN_NANOS && !closed);
            return null;
        }
    }
}

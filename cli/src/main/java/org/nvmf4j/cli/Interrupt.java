package org.nvmf4j.cli;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Lets a command end in good order on SIGINT or SIGTERM: the signal asks it to stop, and the JVM waits for it to have stopped,
 * which {@link #close} says; output must be flushed by then.
 */
final class Interrupt implements AutoCloseable {
    private static final long PATIENCE_SECONDS = 20;

    private final CountDownLatch ended = new CountDownLatch(1);
    private final Thread hook;
    private boolean signalled;
    private Runnable stop;

    private Interrupt(Runnable stop, int status) {
        this.stop = stop;
        hook = new Thread(() -> onSignal(status), "nvmf-interrupt");
        Runtime.getRuntime().addShutdownHook(hook);
    }

    private void onSignal(int status) {
        Runnable now;
        synchronized (this) {
            signalled = true;
            now = stop;
        }
        now.run();
        try {
            if (ended.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                Runtime.getRuntime().halt(status);
            }
            System.err.println("nvmf: did not end in good order within " + PATIENCE_SECONDS + " s");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Has {@code stop} called, on another thread, when the process is told to end before {@link #close}.
     *
     * @param status the process's exit status after that
     */
    static Interrupt onSignal(Runnable stop, int status) {
        return new Interrupt(stop, status);
    }

    /** What a command does. */
    interface Work {
        /**
         * Does it.
         *
         * @param interrupt to be told by {@link Interrupt#stopBy} how it is stopped
         */
        void run(Interrupt interrupt) throws IOException;
    }

    /** Runs a command's work and returns the exit status; that it fails because it was told to end is no failure. */
    static int guard(Work work) throws IOException {
        try (Interrupt interrupt = new Interrupt(() -> {}, Failures.INTERRUPTED)) {
            try {
                work.run(interrupt);
                return 0;
            } catch (IOException | RuntimeException e) {
                if (interrupt.isSignalled()) {
                    return Failures.INTERRUPTED;
                }
                throw e;
            }
        }
    }

    /** The same, for a signal that may be on its way. */
    boolean isSignalledWithin(Duration delay) {
        long end = System.nanoTime() + delay.toNanos();
        try {
            while (!isSignalled() && System.nanoTime() < end) {
                TimeUnit.MILLISECONDS.sleep(1);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return isSignalled();
    }

    /** Changes what the signal has called; at once, if it has come. */
    void stopBy(Runnable action) {
        boolean late;
        synchronized (this) {
            stop = action;
            late = signalled;
        }
        if (late) {
            action.run();
        }
    }

    /** Has the calling thread interrupted. */
    void stopByInterrupt() {
        stopBy(Thread.currentThread()::interrupt);
    }

    /** Whether the process was told to end, so that what fails now does so because of that. */
    synchronized boolean isSignalled() {
        return signalled;
    }

    @Override
    public void close() {
        ended.countDown();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            return; // the JVM is ending: the hook has run
        }
    }
}

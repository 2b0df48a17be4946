package org.nvmf4j.cli;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Lets a command end in good order on SIGINT or SIGTERM: the signal asks it to stop, and the JVM waits for it to have stopped,
 * which {@link #close} says; output must be flushed by then.
 */
final class Interrupt implements AutoCloseable {
    private static final long PATIENCE_SECONDS = 20;

    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile boolean signalled;
    private final Thread hook;

    private Interrupt(Runnable stop, int status) {
        hook = new Thread(
                () -> {
                    signalled = true;
                    stop.run();
                    try {
                        if (ended.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                            Runtime.getRuntime().halt(status);
                        }
                        System.err.println("nvmf: did not end in good order within " + PATIENCE_SECONDS + " s");
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                },
                "nvmf-interrupt");
        Runtime.getRuntime().addShutdownHook(hook);
    }

    /**
     * Has {@code stop} called, on another thread, when the process is told to end before {@link #close}.
     *
     * @param status the process's exit status after that
     */
    static Interrupt onSignal(Runnable stop, int status) {
        return new Interrupt(stop, status);
    }

    /**
     * Has the calling thread interrupted; as {@link #onSignal}.
     *
     * @param alsoStop called before
     */
    static Interrupt ofThisThread(Runnable alsoStop, int status) {
        Thread current = Thread.currentThread();
        return onSignal(
                () -> {
                    alsoStop.run();
                    current.interrupt();
                },
                status);
    }

    /** Whether the process was told to end, so that what fails now does so because of that. */
    boolean isSignalled() {
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

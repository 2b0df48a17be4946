package org.nvmf4j.ibverbs;

import java.util.function.IntSupplier;
import org.nvmf4j.linux.DescriptorWaiter;
import org.nvmf4j.linux.LinuxException;
import org.nvmf4j.linux.SystemErrors;
import org.nvmf4j.verbs.VerbsException;

/** A thread that takes the libraries' events of one file descriptor, so that lanes need no system call to know that there are none. */
final class EventReader implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(EventReader.class.getName());

    private final String name;
    private final IntSupplier takesOne;
    private final DescriptorWaiter waiter;
    private final Thread thread;
    private volatile boolean stopping;

    /**
     * Starts the thread.
     *
     * @param takesOne takes an event and gives 0, or the error number of there being none: EIO if there will be none any more, as the device
     *     is gone; on the thread, never after {@link #close}
     */
    EventReader(String name, int fd, IntSupplier takesOne) throws VerbsException {
        this.name = name;
        this.takesOne = takesOne;
        try {
            DescriptorWaiter.setNonBlocking(fd);
            waiter = new DescriptorWaiter(fd);
        } catch (LinuxException e) {
            throw new VerbsException("cannot wait for " + name + ": " + e.getMessage(), e);
        }
        thread = Thread.ofPlatform().daemon().name("nvmf4j " + name).start(this::run);
    }

    private void run() {
        try {
            int errno = 0;
            while (!stopping && errno != SystemErrors.EIO) {
                waiter.await(-1);
                do {
                    errno = stopping ? SystemErrors.EAGAIN : takeOne();
                } while (errno == 0);
            }
        } catch (LinuxException e) {
            LOG.log(System.Logger.Level.ERROR, "no " + name + " any more: " + e.getMessage(), e);
        }
    }

    private int takeOne() {
        try {
            return takesOne.getAsInt();
        } catch (RuntimeException e) {
            LOG.log(System.Logger.Level.ERROR, "unexpected failure at one of the " + name, e);
            return 0;
        }
    }

    /** Ends the thread. */
    @Override
    public void close() {
        stopping = true;
        boolean interrupted = false;
        while (thread.isAlive()) {
            waiter.wake();
            try {
                thread.join(100);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        waiter.close();
    }
}

package org.nvmf4j.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Lets the thread that owns some file descriptors sleep until one of them has something to read, or another thread wakes it; for
 * descriptors of libraries that this module does not know.
 *
 * <p>{@link #await} is the owner's; {@link #wake} is for any thread and costs an atomic exchange while the owner is awake.
 */
public final class DescriptorWaiter implements AutoCloseable {
    private static final short POLLIN = 1;
    private static final short POLLOUT = 4;
    private static final int EFD_NONBLOCK = 0x800;
    private static final int EFD_CLOEXEC = 0x80000;
    private static final int F_GETFL = 3;
    private static final int F_SETFL = 4;
    private static final int O_NONBLOCK = 0x800;
    private static final long POLLFD_BYTES = 8;
    private static final long POLLFD_EVENTS = 4;
    private static final long POLLFD_REVENTS = 6;
    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    private final WakeState state = new WakeState();
    private final MemorySegment errnoState = LibC.newErrnoState();
    private final MemorySegment wakeErrnoState = LibC.newErrnoState();
    private final MemorySegment pollFds;
    private final MemorySegment timeout;
    private final MemorySegment counter;
    private final MemorySegment one;
    private final int count;
    private boolean writable;
    private int eventFd;

    /**
     * A waiter for some descriptors.
     *
     * @param fds stay the caller's to close, after the waiter
     */
    public DescriptorWaiter(int... fds) throws LinuxException {
        Arena arena = Arena.ofAuto();
        count = fds.length;
        pollFds = arena.allocate(POLLFD_BYTES * (count + 1), 8);
        timeout = arena.allocate(16, 8);
        counter = arena.allocate(8, 8);
        one = arena.allocate(8, 8);
        one.set(ValueLayout.JAVA_LONG, 0, 1);
        eventFd = LibC.eventfd(errnoState, 0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (eventFd < 0) {
            throw new LinuxException("eventfd", -eventFd);
        }
        for (int i = 0; i <= count; i++) {
            pollFds.set(ValueLayout.JAVA_INT, i * POLLFD_BYTES, i < count ? fds[i] : eventFd);
            pollFds.set(ValueLayout.JAVA_SHORT, i * POLLFD_BYTES + POLLFD_EVENTS, POLLIN);
        }
    }

    /** Why this JVM cannot call the system, and what to do; empty if it can. */
    public static String problem() {
        return NativeAccess.problem();
    }

    /** Has reads from a descriptor fail with EAGAIN where they would wait. */
    public static void setNonBlocking(int fd) throws LinuxException {
        MemorySegment errnoState = LibC.newErrnoState();
        int flags = LibC.fcntl(errnoState, fd, F_GETFL, 0);
        int result = flags < 0 ? flags : LibC.fcntl(errnoState, fd, F_SETFL, flags | O_NONBLOCK);
        if (result < 0) {
            throw new LinuxException("fcntl", -result);
        }
    }

    /**
     * Sleeps until a descriptor has something to read, {@link #wake} was called since the last return of this method, or the time is
     * over; may return without reason.
     *
     * @param timeoutNanos how long at most; a negative value sleeps without limit
     */
    public void await(long timeoutNanos) throws LinuxException {
        await(timeoutNanos, false);
    }

    /** The same, and with {@code untilWritable} also until a descriptor can be written to. */
    void await(long timeoutNanos, boolean untilWritable) throws LinuxException {
        try {
            if (state.fallAsleep()) {
                sleep(timeoutNanos, untilWritable);
            }
        } finally {
            state.stayAwake();
        }
    }

    private void sleep(long timeoutNanos, boolean untilWritable) throws LinuxException {
        if (eventFd < 0) {
            throw new IllegalStateException("the waiter is closed");
        }
        if (untilWritable != writable) {
            writable = untilWritable;
            short events = untilWritable ? (short) (POLLIN | POLLOUT) : POLLIN;
            for (int i = 0; i < count; i++) {
                pollFds.set(ValueLayout.JAVA_SHORT, i * POLLFD_BYTES + POLLFD_EVENTS, events);
            }
        }
        timeout.set(ValueLayout.JAVA_LONG, 0, timeoutNanos / NANOS_PER_SECOND);
        timeout.set(ValueLayout.JAVA_LONG, 8, timeoutNanos % NANOS_PER_SECOND);
        int ready = LibC.ppoll(errnoState, pollFds.address(), count + 1, timeoutNanos < 0 ? 0 : timeout.address());
        if (ready < 0) {
            if (-ready != SystemErrors.EINTR) {
                throw new LinuxException("ppoll", -ready);
            }
        } else if (pollFds.get(ValueLayout.JAVA_SHORT, count * POLLFD_BYTES + POLLFD_REVENTS) != 0) {
            // Only empties the counter: whether it was set already does not matter.
            var _ = LibC.read(errnoState, eventFd, counter.address(), 8);
        }
    }

    /** Leaves the descriptors alone from now on, as they are of something that is gone: then only {@link #wake} and time end a wait. The owner's. */
    public void ignoreDescriptors() {
        for (int i = 0; i < count; i++) {
            pollFds.set(ValueLayout.JAVA_INT, i * POLLFD_BYTES, -1);
        }
    }

    /** Makes the running {@link #await}, or else the next, return at once. Thread-safe. */
    public void wake() {
        if (state.wake()) {
            synchronized (one) {
                if (eventFd >= 0) {
                    // Fails only where the counter is full, and then the sleeper wakes anyway.
                    var _ = LibC.write(wakeErrnoState, eventFd, one.address(), 8);
                }
            }
        }
    }

    /** Frees the waiter, not its descriptors; the owner must not be within {@link #await}. Idempotent. */
    @Override
    public void close() {
        synchronized (one) {
            if (eventFd >= 0) {
                LibC.close(wakeErrnoState, eventFd);
                eventFd = -1;
            }
        }
    }
}

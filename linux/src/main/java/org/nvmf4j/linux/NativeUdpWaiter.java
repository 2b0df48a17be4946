package org.nvmf4j.linux;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/** Waits by {@code ppoll} on the sockets and an eventfd. */
final class NativeUdpWaiter extends UdpWaiter {
    private static final short POLLIN = 1;
    private static final short POLLOUT = 4;
    private static final int EFD_NONBLOCK = 0x800;
    private static final int EFD_CLOEXEC = 0x80000;
    private static final long POLLFD_BYTES = 8;
    private static final long POLLFD_EVENTS = 4;
    private static final long POLLFD_REVENTS = 6;
    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    private final MemorySegment errnoState = LibC.newErrnoState();
    private final MemorySegment wakeErrnoState = LibC.newErrnoState();
    private final MemorySegment pollFds;
    private final MemorySegment timeout;
    private final MemorySegment counter;
    private final MemorySegment one;
    private final int sockets;
    private final Object closing = new Object();
    private int eventFd;

    private NativeUdpWaiter(List<UdpSocket> sockets, int eventFd) {
        Arena arena = Arena.ofAuto();
        this.sockets = sockets.size();
        this.eventFd = eventFd;
        this.pollFds = arena.allocate(POLLFD_BYTES * (this.sockets + 1), 8);
        this.timeout = arena.allocate(16, 8);
        this.counter = arena.allocate(8, 8);
        this.one = arena.allocate(8, 8);
        one.set(ValueLayout.JAVA_LONG, 0, 1);
        for (int i = 0; i < this.sockets; i++) {
            setPollFd(i, ((NativeUdpSocket) sockets.get(i)).fd());
        }
        setPollFd(this.sockets, eventFd);
    }

    static NativeUdpWaiter open(List<UdpSocket> sockets) throws LinuxException {
        for (UdpSocket socket : sockets) {
            if (!socket.isNative()) {
                throw new IllegalArgumentException("cannot wait for a native and a portable socket together");
            }
        }
        int fd = LibC.eventfd(LibC.newErrnoState(), 0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (fd < 0) {
            throw new LinuxException("eventfd", -fd);
        }
        return new NativeUdpWaiter(sockets, fd);
    }

    private void setPollFd(int index, int fd) {
        pollFds.set(ValueLayout.JAVA_INT, index * POLLFD_BYTES, fd);
        pollFds.set(ValueLayout.JAVA_SHORT, index * POLLFD_BYTES + POLLFD_EVENTS, POLLIN);
    }

    @Override
    void sleep(long timeoutNanos, boolean untilWritable) throws IOException {
        if (eventFd < 0) {
            throw new IllegalStateException("the waiter is closed");
        }
        short events = untilWritable ? (short) (POLLIN | POLLOUT) : POLLIN;
        for (int i = 0; i < sockets; i++) {
            pollFds.set(ValueLayout.JAVA_SHORT, i * POLLFD_BYTES + POLLFD_EVENTS, events);
        }
        timeout.set(ValueLayout.JAVA_LONG, 0, timeoutNanos / NANOS_PER_SECOND);
        timeout.set(ValueLayout.JAVA_LONG, 8, timeoutNanos % NANOS_PER_SECOND);
        int ready = LibC.ppoll(errnoState, pollFds.address(), sockets + 1, timeoutNanos < 0 ? 0 : timeout.address());
        if (ready < 0) {
            if (-ready != SystemErrors.EINTR) {
                throw new LinuxException("ppoll", -ready);
            }
        } else if (pollFds.get(ValueLayout.JAVA_SHORT, sockets * POLLFD_BYTES + POLLFD_REVENTS) != 0) {
            // Only empties the counter: whether it was set already does not matter.
            var _ = LibC.read(errnoState, eventFd, counter.address(), 8);
        }
    }

    @Override
    void interruptSleep() {
        synchronized (closing) {
            if (eventFd >= 0) {
                // Fails only where the counter is full, and then the sleeper wakes anyway.
                var _ = LibC.write(wakeErrnoState, eventFd, one.address(), 8);
            }
        }
    }

    @Override
    public void close() {
        synchronized (closing) {
            if (eventFd >= 0) {
                LibC.close(errnoState, eventFd);
                eventFd = -1;
            }
        }
    }
}

package org.nvmf4j.linux;

import java.io.Closeable;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A counter that a driver increases (an eventfd), such as for an interrupt; {@link DescriptorWaiter} waits for it. One thread takes from it
 * at a time.
 */
public final class EventCounter implements Closeable {
    private static final int EFD_NONBLOCK = 0x800;
    private static final int EFD_CLOEXEC = 0x80000;

    private final MemorySegment errnoState = LibC.newErrnoState();
    private final MemorySegment count = Arena.ofAuto().allocate(Long.BYTES, Long.BYTES);
    private int fd;

    /** A counter at zero. */
    public EventCounter() throws LinuxException {
        fd = LibC.eventfd(errnoState, 0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (fd < 0) {
            throw new LinuxException("eventfd", -fd);
        }
    }

    /** For the driver and for {@link DescriptorWaiter}. */
    public int fd() {
        return fd;
    }

    /** What was counted since the last call, without waiting; 0 once it is closed. */
    public long take() throws LinuxException {
        if (fd < 0) {
            return 0;
        }
        long result = LibC.read(errnoState, fd, count.address(), Long.BYTES);
        if (result == -SystemErrors.EAGAIN) {
            return 0;
        }
        if (result < 0) {
            throw new LinuxException("read", (int) -result);
        }
        return count.get(ValueLayout.JAVA_LONG, 0);
    }

    /** Counts one more, as a driver does. */
    public void add() throws LinuxException {
        count.set(ValueLayout.JAVA_LONG, 0, 1);
        long result = LibC.write(errnoState, fd, count.address(), Long.BYTES);
        if (result < 0) {
            throw new LinuxException("write", (int) -result);
        }
    }

    @Override
    public void close() {
        if (fd >= 0) {
            LibC.close(errnoState, fd);
            fd = -1;
        }
    }
}

package org.nvmf4j.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.NoSuchElementException;

/**
 * The C library's functions that this module calls. Each returns what C returns, or {@code -errno} where C returns -1.
 *
 * <p>All functions share one shape, six {@code long} arguments and a {@code long} result: the ABIs of x86-64 and aarch64
 * pass integers and pointers alike in registers, ignore registers that a function has no parameter for, and ignore the
 * upper half of a register that holds an {@code int}. So linking costs one stub for all. Results of functions that
 * return {@code int} are narrowed, for the upper half of their register is undefined.
 *
 * <p>Loaded, and linked, when the first system call is made. The {@code errnoState} argument is memory from {@link
 * #newErrnoState}, used by one thread at a time.
 */
final class LibC {
    private static final Linker LINKER = Linker.nativeLinker();
    private static final SymbolLookup LIBRARY = LINKER.defaultLookup();
    private static final Linker.Option CAPTURE_ERRNO = Linker.Option.captureCallState("errno");
    private static final long ERRNO_OFFSET =
            Linker.Option.captureStateLayout().byteOffset(PathElement.groupElement("errno"));
    private static final FunctionDescriptor SHAPE = FunctionDescriptor.of(
            ValueLayout.JAVA_LONG,
            ValueLayout.JAVA_LONG,
            ValueLayout.JAVA_LONG,
            ValueLayout.JAVA_LONG,
            ValueLayout.JAVA_LONG,
            ValueLayout.JAVA_LONG,
            ValueLayout.JAVA_LONG);

    private static final MethodHandle SOCKET = link("socket");
    private static final MethodHandle BIND = link("bind");
    private static final MethodHandle GETSOCKNAME = link("getsockname");
    private static final MethodHandle SETSOCKOPT = link("setsockopt");
    private static final MethodHandle GETSOCKOPT = link("getsockopt");
    private static final MethodHandle SENDTO = link("sendto");
    private static final MethodHandle SENDMSG = link("sendmsg");
    private static final MethodHandle SENDMMSG = link("sendmmsg");
    private static final MethodHandle RECVMSG = link("recvmsg");
    private static final MethodHandle RECVMMSG = link("recvmmsg");
    private static final MethodHandle PPOLL = link("ppoll");
    private static final MethodHandle EVENTFD = link("eventfd");
    private static final MethodHandle READ = link("read");
    private static final MethodHandle WRITE = link("write");
    private static final MethodHandle PREAD = link("pread");
    private static final MethodHandle PWRITE = link("pwrite");
    private static final MethodHandle IOCTL = link("ioctl");
    private static final MethodHandle OPEN = link("open");
    private static final MethodHandle CLOSE = link("close");
    private static final MethodHandle FCNTL = link("fcntl");
    private static final MethodHandle MMAP = link("mmap");
    private static final MethodHandle MUNMAP = link("munmap");
    private static final MethodHandle MADVISE = link("madvise");
    private static final MethodHandle SCHED_SETAFFINITY = link("sched_setaffinity");
    private static final MethodHandle SCHED_GETAFFINITY = link("sched_getaffinity");
    private static final MethodHandle SCHED_GETCPU = link("sched_getcpu");

    private LibC() {}

    private static MethodHandle link(String name) {
        MemorySegment function = LIBRARY.find(name)
                .orElseThrow(() -> new NoSuchElementException("the C library has no function " + name));
        return LINKER.downcallHandle(function, SHAPE, CAPTURE_ERRNO);
    }

    /** Memory that a call leaves its error number in; freed when it is no longer referenced. */
    static MemorySegment newErrnoState() {
        return Arena.ofAuto().allocate(Linker.Option.captureStateLayout());
    }

    static int socket(MemorySegment errnoState, int domain, int type, int protocol) {
        return narrow(errnoState, call(SOCKET, errnoState, domain, type, protocol, 0, 0, 0));
    }

    static int bind(MemorySegment errnoState, int fd, long address, int length) {
        return narrow(errnoState, call(BIND, errnoState, fd, address, length, 0, 0, 0));
    }

    static int getsockname(MemorySegment errnoState, int fd, long address, long lengthAddress) {
        return narrow(errnoState, call(GETSOCKNAME, errnoState, fd, address, lengthAddress, 0, 0, 0));
    }

    static int setsockopt(MemorySegment errnoState, int fd, int level, int option, long value, int length) {
        return narrow(errnoState, call(SETSOCKOPT, errnoState, fd, level, option, value, length, 0));
    }

    static int getsockopt(MemorySegment errnoState, int fd, int level, int option, long value, long lengthAddress) {
        return narrow(errnoState, call(GETSOCKOPT, errnoState, fd, level, option, value, lengthAddress, 0));
    }

    static int sendto(MemorySegment errnoState, int fd, long data, long length, long address, int addressLength) {
        try {
            return narrow(errnoState, (long)
                    SENDTO.invokeExact(errnoState, (long) fd, data, length, 0L, address, (long) addressLength));
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    static int sendmsg(MemorySegment errnoState, int fd, long message, int flags) {
        try {
            return narrow(
                    errnoState, (long) SENDMSG.invokeExact(errnoState, (long) fd, message, (long) flags, 0L, 0L, 0L));
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    static int sendmmsg(MemorySegment errnoState, int fd, long messages, int count, int flags) {
        try {
            return narrow(errnoState, (long)
                    SENDMMSG.invokeExact(errnoState, (long) fd, messages, (long) count, (long) flags, 0L, 0L));
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    static int recvmsg(MemorySegment errnoState, int fd, long message, int flags) {
        try {
            return narrow(
                    errnoState, (long) RECVMSG.invokeExact(errnoState, (long) fd, message, (long) flags, 0L, 0L, 0L));
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    static int recvmmsg(MemorySegment errnoState, int fd, long messages, int count, int flags) {
        try {
            return narrow(errnoState, (long)
                    RECVMMSG.invokeExact(errnoState, (long) fd, messages, (long) count, (long) flags, 0L, 0L));
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    static int ppoll(MemorySegment errnoState, long pollFds, int count, long timeout) {
        try {
            return narrow(errnoState, (long) PPOLL.invokeExact(errnoState, pollFds, (long) count, timeout, 0L, 0L, 0L));
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    static int eventfd(MemorySegment errnoState, int initialValue, int flags) {
        return narrow(errnoState, call(EVENTFD, errnoState, initialValue, flags, 0, 0, 0, 0));
    }

    static long read(MemorySegment errnoState, int fd, long address, long length) {
        return whole(errnoState, call(READ, errnoState, fd, address, length, 0, 0, 0));
    }

    static long write(MemorySegment errnoState, int fd, long address, long length) {
        return whole(errnoState, call(WRITE, errnoState, fd, address, length, 0, 0, 0));
    }

    static long pread(MemorySegment errnoState, int fd, long address, long length, long offset) {
        return whole(errnoState, call(PREAD, errnoState, fd, address, length, offset, 0, 0));
    }

    static long pwrite(MemorySegment errnoState, int fd, long address, long length, long offset) {
        return whole(errnoState, call(PWRITE, errnoState, fd, address, length, offset, 0, 0));
    }

    /** With an integer or a pointer as argument, as {@link #fcntl} takes them. */
    static int ioctl(MemorySegment errnoState, int fd, long request, long argument) {
        return narrow(errnoState, call(IOCTL, errnoState, fd, request, argument, 0, 0, 0));
    }

    /** Opens a file that exists; the path ends with a zero byte. */
    static int open(MemorySegment errnoState, long path, int flags) {
        return narrow(errnoState, call(OPEN, errnoState, path, flags, 0, 0, 0, 0));
    }

    static int close(MemorySegment errnoState, int fd) {
        return narrow(errnoState, call(CLOSE, errnoState, fd, 0, 0, 0, 0, 0));
    }

    /** With an integer or a pointer as argument, which both ABIs pass to a variadic function as to any other. */
    static int fcntl(MemorySegment errnoState, int fd, int command, long argument) {
        return narrow(errnoState, call(FCNTL, errnoState, fd, command, argument, 0, 0, 0));
    }

    /** The address of anonymous private memory, or {@code -errno}. */
    static long mmapAnonymous(MemorySegment errnoState, long lengthBytes) {
        int protection = 1 | 2; // PROT_READ | PROT_WRITE
        int flags = 2 | 0x20; // MAP_PRIVATE | MAP_ANONYMOUS
        return whole(errnoState, call(MMAP, errnoState, 0, lengthBytes, protection, flags, -1, 0));
    }

    /** The address of a part of a file, shared with all that map it, or {@code -errno}. */
    static long mmapShared(MemorySegment errnoState, int fd, long offset, long lengthBytes) {
        int protection = 1 | 2; // PROT_READ | PROT_WRITE
        int flags = 1; // MAP_SHARED
        return whole(errnoState, call(MMAP, errnoState, 0, lengthBytes, protection, flags, fd, offset));
    }

    static int munmap(MemorySegment errnoState, long address, long lengthBytes) {
        return narrow(errnoState, call(MUNMAP, errnoState, address, lengthBytes, 0, 0, 0, 0));
    }

    static int madvise(MemorySegment errnoState, long address, long lengthBytes, int advice) {
        return narrow(errnoState, call(MADVISE, errnoState, address, lengthBytes, advice, 0, 0, 0));
    }

    static int schedSetaffinity(MemorySegment errnoState, long maskBytes, long mask) {
        return narrow(errnoState, call(SCHED_SETAFFINITY, errnoState, 0, maskBytes, mask, 0, 0, 0));
    }

    static int schedGetaffinity(MemorySegment errnoState, long maskBytes, long mask) {
        return narrow(errnoState, call(SCHED_GETAFFINITY, errnoState, 0, maskBytes, mask, 0, 0, 0));
    }

    static int schedGetcpu(MemorySegment errnoState) {
        return narrow(errnoState, call(SCHED_GETCPU, errnoState, 0, 0, 0, 0, 0, 0));
    }

    private static int narrow(MemorySegment errnoState, long result) {
        int value = (int) result;
        return value == -1 ? -errnoState.get(ValueLayout.JAVA_INT, ERRNO_OFFSET) : value;
    }

    private static long whole(MemorySegment errnoState, long result) {
        return result == -1 ? -errnoState.get(ValueLayout.JAVA_INT, ERRNO_OFFSET) : result;
    }

    private static long call(
            MethodHandle function, MemorySegment errnoState, long a, long b, long c, long d, long e, long f) {
        try {
            return (long) function.invokeExact(errnoState, a, b, c, d, e, f);
        } catch (Throwable t) {
            throw unexpected(t);
        }
    }

    /** What a downcall throws is a closed arena or a mistake in this class. */
    private static RuntimeException unexpected(Throwable t) {
        if (t instanceof RuntimeException e) {
            return e;
        }
        if (t instanceof Error e) {
            throw e;
        }
        return new IllegalStateException(t);
    }
}

package org.nvmf4j.ibverbs;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.linux.SystemErrors;
import org.nvmf4j.verbs.VerbsException;

/**
 * The functions of libibverbs and librdmacm that this module calls, and memory of theirs.
 *
 * <p>The three functions that run per work request are called without a detour: see {@link #fast}.
 */
final class RdmaCore {
    /** All of memory: structs of the libraries are read by their address. */
    static final MemorySegment MEMORY = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    private static final MethodHandle FAST = Linker.nativeLinker()
            .downcallHandle(FunctionDescriptor.of(
                    ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));

    private static volatile @Nullable RdmaCore loaded;

    private final Calls calls;

    /** In lower case the name in C; from which library. */
    enum Function {
        IBV_QUERY_DEVICE(true),
        IBV_QUERY_PORT(true),
        IBV_GET_DEVICE_NAME(true),
        IBV_ALLOC_PD(true),
        IBV_DEALLOC_PD(true),
        IBV_REG_MR(true),
        /** Since rdma-core 34. */
        IBV_REG_DMABUF_MR(true),
        IBV_DEREG_MR(true),
        IBV_CREATE_COMP_CHANNEL(true),
        IBV_DESTROY_COMP_CHANNEL(true),
        IBV_CREATE_CQ(true),
        IBV_DESTROY_CQ(true),
        IBV_GET_CQ_EVENT(true),
        IBV_ACK_CQ_EVENTS(true),
        IBV_CREATE_SRQ(true),
        IBV_DESTROY_SRQ(true),
        IBV_CREATE_QP(true),
        IBV_MODIFY_QP(true),
        IBV_DESTROY_QP(true),
        IBV_GET_ASYNC_EVENT(true),
        IBV_ACK_ASYNC_EVENT(true),
        RDMA_CREATE_EVENT_CHANNEL(false),
        RDMA_DESTROY_EVENT_CHANNEL(false),
        RDMA_CREATE_ID(false),
        RDMA_DESTROY_ID(false),
        RDMA_BIND_ADDR(false),
        RDMA_LISTEN(false),
        RDMA_RESOLVE_ADDR(false),
        RDMA_RESOLVE_ROUTE(false),
        RDMA_CONNECT(false),
        RDMA_ESTABLISH(false),
        RDMA_ACCEPT(false),
        RDMA_REJECT(false),
        RDMA_DISCONNECT(false),
        RDMA_NOTIFY(false),
        RDMA_INIT_QP_ATTR(false),
        RDMA_GET_CM_EVENT(false),
        RDMA_ACK_CM_EVENT(false);

        private final boolean ofVerbs;

        Function(boolean ofVerbs) {
            this.ofVerbs = ofVerbs;
        }

        boolean isOfVerbs() {
            return ofVerbs;
        }

        /** Whether the libraries may lack it. */
        boolean isOptional() {
            return this == IBV_REG_DMABUF_MR;
        }

        String symbol() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** How functions of the libraries are called; tests have other libraries. */
    interface Calls {
        boolean has(Function function);

        /**
         * Calls a function with as many of the arguments as it has.
         *
         * @param errno where its error number goes
         */
        long call(Function function, int[] errno, long a, long b, long c, long d, long e, long f);

        /** How much memory this process may lock, in bytes; {@link Long#MAX_VALUE} if as much as it likes. */
        long lockableBytes();
    }

    RdmaCore(Calls calls) {
        this.calls = calls;
    }

    /**
     * Loads the libraries, once.
     *
     * @throws VerbsException with one line that says what is missing and what to do
     */
    static RdmaCore load() throws VerbsException {
        RdmaCore core = loaded;
        if (core == null) {
            core = new RdmaCore(new Libraries("libibverbs.so.1", "librdmacm.so.1"));
            loaded = core;
        }
        return core;
    }

    /** Whether the libraries are new enough to have a function that not all have. */
    boolean has(Function function) {
        return calls.has(function);
    }

    /** Calls a function that gives a pointer, and NULL with errno where it fails. */
    long pointer(Function function, long a, long b, long c, long d, long e, long f) throws VerbsException {
        int[] errno = new int[1];
        long result = calls.call(function, errno, a, b, c, d, e, f);
        if (result == 0) {
            throw failure(function, errno[0]);
        }
        return result;
    }

    long pointer(Function function, long a, long b, long c, long d, long e) throws VerbsException {
        return pointer(function, a, b, c, d, e, 0);
    }

    long pointer(Function function, long a) throws VerbsException {
        return pointer(function, a, 0, 0, 0, 0, 0);
    }

    /** Calls a function that gives 0 where it succeeds, and −1 with errno or an error number where it fails; gives that number. */
    int status(Function function, long a, long b, long c, long d) {
        int[] errno = new int[1];
        int result = (int) calls.call(function, errno, a, b, c, d, 0, 0);
        return result == -1 ? errno[0] : Math.abs(result);
    }

    /** The same, with an exception where it fails. */
    void check(Function function, long a, long b, long c, long d) throws VerbsException {
        int errno = status(function, a, b, c, d);
        if (errno != 0) {
            throw failure(function, errno);
        }
    }

    void check(Function function, long a) throws VerbsException {
        check(function, a, 0, 0, 0);
    }

    private VerbsException failure(Function function, int errno) {
        String remedy = switch (errno) {
            case SystemErrors.ENOMEM -> lockRemedy();
            case SystemErrors.ENOENT -> // what librdmacm says when it can open no device
                function == Function.RDMA_CREATE_EVENT_CHANNEL
                        ? "; no RDMA device can be opened: give this user access to /dev/infiniband (group rdma, or root),"
                                + " and load the kernel module rdma_ucm"
                        : "";
            case SystemErrors.EPERM, SystemErrors.EACCES ->
                "; give this user access to /dev/infiniband (group rdma, or root)";
            default -> "";
        };
        return new VerbsException(function.symbol() + ": " + SystemErrors.describe(errno) + remedy, errno);
    }

    /** What a device uses is locked, also what its driver has for queues. */
    private String lockRemedy() {
        long bytes = calls.lockableBytes();
        return bytes == Long.MAX_VALUE
                ? ""
                : "; a device needs its memory locked, and this process may lock " + (bytes >> 10)
                        + " KiB: raise that (ulimit -l unlimited, or LimitMEMLOCK=infinity of the service)";
    }

    /** Calls one of the functions in {@link Abi.IbvContext}, which need no errno. */
    static int fast(MemorySegment function, long a, long b, long c) {
        try {
            return (int) FAST.invokeExact(function, a, b, c);
        } catch (Throwable t) {
            throw unexpected(t);
        }
    }

    static RuntimeException unexpected(Throwable t) {
        if (t instanceof RuntimeException e) {
            return e;
        }
        if (t instanceof Error e) {
            throw e;
        }
        return new IllegalStateException(t);
    }

    static int intAt(long address) {
        return MEMORY.get(ValueLayout.JAVA_INT, address);
    }

    static long longAt(long address) {
        return MEMORY.get(ValueLayout.JAVA_LONG, address);
    }

    static int byteAt(long address) {
        return MEMORY.get(ValueLayout.JAVA_BYTE, address) & 0xff;
    }

    static byte[] bytesAt(long address, int count) {
        return MEMORY.asSlice(address, count).toArray(ValueLayout.JAVA_BYTE);
    }

    static MemorySegment functionAt(long address) {
        return MemorySegment.ofAddress(longAt(address));
    }

    /** A string that ends with 0 within so many bytes. */
    static String stringAt(long address, int maxBytes) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < maxBytes; i++) {
            int c = byteAt(address + i);
            if (c == 0) {
                break;
            }
            text.append((char) c);
        }
        return text.toString();
    }
}

package org.nvmf4j.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.linux.DescriptorWaiter;
import org.nvmf4j.linux.SystemErrors;
import org.nvmf4j.verbs.VerbsException;

/**
 * The functions of libibverbs and librdmacm that this module calls, and memory of theirs.
 *
 * <p>All set-up functions share one shape, six {@code long} arguments and a {@code long} result, and the three that run per work request
 * another; each further shape would cost the start of a program. That is right where integers and pointers alike are passed in registers
 * and a callee ignores those it has no parameter for, as on x86-64 Linux.
 */
final class RdmaCore {
    /** All of memory: structs of the libraries are read by their address. */
    static final MemorySegment MEMORY = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    private static final Linker LINKER = Linker.nativeLinker();
    private static final long ERRNO_OFFSET =
            Linker.Option.captureStateLayout().byteOffset(PathElement.groupElement("errno"));
    private static final MethodHandle CALL = LINKER.downcallHandle(
            FunctionDescriptor.of(
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG),
            Linker.Option.captureCallState("errno"));
    private static final MethodHandle FAST = LINKER.downcallHandle(FunctionDescriptor.of(
            ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));

    private static volatile @Nullable RdmaCore loaded;

    private final Map<Function, MemorySegment> functions = new EnumMap<>(Function.class);

    /** In lower case the name in C; from which library. */
    enum Function {
        IBV_QUERY_DEVICE(true),
        IBV_QUERY_PORT(true),
        IBV_GET_DEVICE_NAME(true),
        IBV_ALLOC_PD(true),
        IBV_DEALLOC_PD(true),
        IBV_REG_MR(true),
        IBV_DEREG_MR(true),
        IBV_CREATE_COMP_CHANNEL(true),
        IBV_DESTROY_COMP_CHANNEL(true),
        IBV_CREATE_CQ(true),
        IBV_DESTROY_CQ(true),
        IBV_GET_CQ_EVENT(true),
        IBV_ACK_CQ_EVENTS(true),
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

        String symbol() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    private RdmaCore(String verbsLibrary, String managerLibrary) throws VerbsException {
        SymbolLookup verbs = library(verbsLibrary, "libibverbs1");
        SymbolLookup manager = library(managerLibrary, "librdmacm1");
        for (Function function : Function.values()) {
            String library = function.ofVerbs ? verbsLibrary : managerLibrary;
            MemorySegment address = (function.ofVerbs ? verbs : manager)
                    .find(function.symbol())
                    .orElseThrow(() -> new VerbsException(library + " is too old: it has no " + function.symbol()
                            + "; install rdma-core 22 or later"));
            functions.put(function, address);
        }
    }

    private static SymbolLookup library(String name, String debianPackage) throws VerbsException {
        try {
            return SymbolLookup.libraryLookup(name, Arena.global());
        } catch (IllegalArgumentException e) {
            throw new VerbsException(
                    name + " is not there: install rdma-core's libraries (Debian: apt-get install " + debianPackage
                            + " librdmacm1 ibverbs-providers)",
                    e);
        }
    }

    /**
     * Loads the libraries, once.
     *
     * @throws VerbsException with one line that says what is missing and what to do
     */
    static RdmaCore load() throws VerbsException {
        RdmaCore core = loaded;
        if (core == null) {
            core = load("libibverbs.so.1", "librdmacm.so.1");
            loaded = core;
        }
        return core;
    }

    /** Loads libraries of other names; for tests. */
    static RdmaCore load(String verbsLibrary, String managerLibrary) throws VerbsException {
        String machine = System.getProperty("os.arch", "");
        if (!machine.equals("amd64")) {
            throw new VerbsException("the layout of libibverbs' structs is only known for Linux on x86-64, this is "
                    + System.getProperty("os.name") + " on " + machine);
        }
        if (!DescriptorWaiter.problem().isEmpty()) {
            throw new VerbsException(DescriptorWaiter.problem());
        }
        return new RdmaCore(verbsLibrary, managerLibrary);
    }

    /** Calls a function that gives a pointer, and NULL with errno where it fails. */
    long pointer(Function function, long a, long b, long c, long d, long e) throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = arena.allocate(Linker.Option.captureStateLayout());
            long result = call(function, errno, a, b, c, d, e);
            if (result == 0) {
                throw failure(function, errno.get(ValueLayout.JAVA_INT, ERRNO_OFFSET));
            }
            return result;
        }
    }

    long pointer(Function function, long a) throws VerbsException {
        return pointer(function, a, 0, 0, 0, 0);
    }

    /** Calls a function that gives 0 where it succeeds, and −1 with errno or an error number where it fails; gives that number. */
    int status(Function function, long a, long b, long c, long d) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = arena.allocate(Linker.Option.captureStateLayout());
            int result = (int) call(function, errno, a, b, c, d, 0);
            return result == -1 ? errno.get(ValueLayout.JAVA_INT, ERRNO_OFFSET) : Math.abs(result);
        }
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

    static VerbsException failure(Function function, int errno) {
        String remedy = switch (errno) {
            case SystemErrors.ENOMEM ->
                function == Function.IBV_REG_MR
                        ? "; memory is locked for the device: raise the limit (ulimit -l unlimited, or LimitMEMLOCK)"
                        : "";
            case 2 -> // ENOENT: what librdmacm says when it can open no device
                function == Function.RDMA_CREATE_EVENT_CHANNEL
                        ? "; no RDMA device can be opened: give this user access to /dev/infiniband (group rdma, or root),"
                                + " and load the kernel module rdma_ucm"
                        : "";
            case SystemErrors.EPERM, 13 -> "; give this user access to /dev/infiniband (group rdma, or root)";
            default -> "";
        };
        return new VerbsException(function.symbol() + ": " + SystemErrors.describe(errno) + remedy, errno);
    }

    private long call(Function function, MemorySegment errno, long a, long b, long c, long d, long e) {
        MemorySegment address = functions.get(function);
        try {
            return (long) CALL.invokeExact(address, errno, a, b, c, d, e, 0L);
        } catch (Throwable t) {
            throw unexpected(t);
        }
    }

    /** Calls one of the functions in {@link Abi.IbvContext}, which need no errno. */
    static int fast(MemorySegment function, long a, long b, long c) {
        try {
            return (int) FAST.invokeExact(function, a, b, c);
        } catch (Throwable t) {
            throw unexpected(t);
        }
    }

    private static RuntimeException unexpected(Throwable t) {
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

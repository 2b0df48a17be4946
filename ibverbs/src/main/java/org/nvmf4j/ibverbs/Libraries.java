package org.nvmf4j.ibverbs;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.nvmf4j.ibverbs.RdmaCore.Function;
import org.nvmf4j.linux.DescriptorWaiter;
import org.nvmf4j.verbs.VerbsException;

/**
 * libibverbs and librdmacm, as {@link RdmaCore} calls them.
 *
 * <p>All functions share one shape, six {@code long} arguments and a {@code long} result; each further shape would cost the start of a
 * program. That is right where integers and pointers alike are passed in registers and a callee ignores those it has no parameter for, as
 * on x86-64 Linux.
 */
final class Libraries implements RdmaCore.Calls {
    private static final MethodHandle CALL = Linker.nativeLinker()
            .downcallHandle(
                    FunctionDescriptor.of(
                            ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_LONG),
                    Linker.Option.captureCallState("errno"));
    private static final long ERRNO_OFFSET =
            Linker.Option.captureStateLayout().byteOffset(PathElement.groupElement("errno"));

    /** The soft limit where there is one; "unlimited" does not match. */
    private static final Pattern LOCKED = Pattern.compile("Max locked memory\\s+(\\d+)\\s");

    private final Map<Function, MemorySegment> functions = new EnumMap<>(Function.class);

    /**
     * Loads them.
     *
     * @throws VerbsException with one line that says what is missing and what to do
     */
    Libraries(String verbsLibrary, String managerLibrary) throws VerbsException {
        String machine = System.getProperty("os.arch", "");
        if (!machine.equals("amd64")) {
            throw new VerbsException("the layout of libibverbs' structs is only known for Linux on x86-64, this is "
                    + System.getProperty("os.name") + " on " + machine);
        }
        if (!DescriptorWaiter.problem().isEmpty()) {
            throw new VerbsException(DescriptorWaiter.problem());
        }
        SymbolLookup verbs = library(verbsLibrary);
        SymbolLookup manager = library(managerLibrary);
        for (Function function : Function.values()) {
            MemorySegment address = (function.isOfVerbs() ? verbs : manager)
                    .find(function.symbol())
                    .orElse(MemorySegment.NULL);
            if (address.address() != 0) {
                functions.put(function, address);
            } else if (!function.isOptional()) {
                throw new VerbsException((function.isOfVerbs() ? verbsLibrary : managerLibrary)
                        + " is too old: it has no " + function.symbol() + "; install rdma-core 22 or later");
            }
        }
    }

    private static SymbolLookup library(String name) throws VerbsException {
        try {
            return SymbolLookup.libraryLookup(name, Arena.global());
        } catch (IllegalArgumentException e) {
            throw new VerbsException(
                    name + " is not there: install rdma-core's libraries (Debian, Ubuntu: apt-get install libibverbs1"
                            + " librdmacm1 ibverbs-providers; RHEL, Fedora: dnf install libibverbs librdmacm)",
                    e);
        }
    }

    @Override
    public long lockableBytes() {
        try (Stream<String> limits = Files.lines(Path.of("/proc/self/limits"))) {
            return limits.map(LOCKED::matcher)
                    .filter(Matcher::lookingAt)
                    .mapToLong(limit -> Long.parseLong(limit.group(1)))
                    .findFirst()
                    .orElse(Long.MAX_VALUE);
        } catch (IOException e) {
            return Long.MAX_VALUE;
        }
    }

    @Override
    public boolean has(Function function) {
        return functions.containsKey(function);
    }

    @Override
    public long call(Function function, int[] errno, long a, long b, long c, long d, long e, long f) {
        MemorySegment address = functions.get(function);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(Linker.Option.captureStateLayout());
            long result = (long) CALL.invokeExact(address, state, a, b, c, d, e, f);
            errno[0] = state.get(ValueLayout.JAVA_INT, ERRNO_OFFSET);
            return result;
        } catch (Throwable t) {
            throw RdmaCore.unexpected(t);
        }
    }
}

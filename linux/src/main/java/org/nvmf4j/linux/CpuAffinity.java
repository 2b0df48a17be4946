package org.nvmf4j.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.stream.IntStream;

/** On which CPUs the calling platform thread runs. Linux with native access only. */
public final class CpuAffinity {
    /** Room for 8192 CPUs, the kernel's largest configuration. */
    private static final int MASK_BYTES = 1024;

    private CpuAffinity() {}

    /** True where the methods of this class work. */
    public static boolean isSupported() {
        return NativeAccess.isAvailable();
    }

    /**
     * Makes the calling platform thread run on one CPU only.
     *
     * @param cpu one of {@link #allowedCpus}
     * @throws LinuxException if the CPU does not exist or is not allowed
     */
    public static void pinCurrentThread(int cpu) throws LinuxException {
        requireSupport();
        if (cpu < 0 || cpu >= MASK_BYTES * Byte.SIZE) {
            throw refused(cpu, SystemErrors.EINVAL);
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment mask = arena.allocate(MASK_BYTES, 8);
            mask.set(ValueLayout.JAVA_BYTE, cpu / Byte.SIZE, (byte) (1 << cpu % Byte.SIZE));
            int result = LibC.schedSetaffinity(LibC.newErrnoState(), MASK_BYTES, mask.address());
            if (result < 0) {
                throw refused(cpu, -result);
            }
        }
    }

    private static LinuxException refused(int cpu, int errno) {
        return new LinuxException(
                "sched_setaffinity",
                errno,
                "cannot pin the thread to CPU " + cpu + ": " + SystemErrors.describe(errno));
    }

    /** The CPUs that the calling thread may run on, ascending. */
    public static int[] allowedCpus() throws LinuxException {
        requireSupport();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment mask = arena.allocate(MASK_BYTES, 8);
            int result = LibC.schedGetaffinity(LibC.newErrnoState(), MASK_BYTES, mask.address());
            if (result < 0) {
                throw new LinuxException("sched_getaffinity", -result);
            }
            return IntStream.range(0, MASK_BYTES * Byte.SIZE)
                    .filter(cpu -> (mask.get(ValueLayout.JAVA_BYTE, cpu / Byte.SIZE) >> cpu % Byte.SIZE & 1) != 0)
                    .toArray();
        }
    }

    /** The CPU that the calling thread is running on now. */
    public static int currentCpu() throws LinuxException {
        requireSupport();
        int cpu = LibC.schedGetcpu(LibC.newErrnoState());
        if (cpu < 0) {
            throw new LinuxException("sched_getcpu", -cpu);
        }
        return cpu;
    }

    private static void requireSupport() {
        if (!NativeAccess.isAvailable()) {
            throw new UnsupportedOperationException("CPU affinity: " + NativeAccess.problem());
        }
    }
}

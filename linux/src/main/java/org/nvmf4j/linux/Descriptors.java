package org.nvmf4j.linux;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/**
 * Device files by their descriptors: requests to their drivers, reads and writes at offsets; {@link MappedFile} maps them. A descriptor is
 * whoever's who opened it, or got it from a driver. Needs native calls. Thread-safe.
 */
public final class Descriptors {
    private Descriptors() {}

    /**
     * Opens a file that exists for reading and writing; a child process does not inherit it.
     *
     * @throws LinuxException if the system refuses
     * @throws IOException if native calls are not possible
     */
    public static int open(Path file) throws IOException {
        if (!NativeAccess.isAvailable()) {
            throw new IOException("cannot open " + file + ": " + NativeAccess.problem());
        }
        return MappedFile.open(LibC.newErrnoState(), file);
    }

    /** Closes a descriptor, once: its number may be another file's at once. */
    public static void close(int fd) {
        LibC.close(LibC.newErrnoState(), fd);
    }

    /**
     * A request to a driver, whose argument is a pointer.
     *
     * @return what the driver returns, at least 0
     */
    public static int ioctl(int fd, long request, MemorySegment argument) throws LinuxException {
        return ioctl(fd, request, argument.address());
    }

    /** A request to a driver, whose argument is a number. */
    public static int ioctl(int fd, long request, long argument) throws LinuxException {
        int result = LibC.ioctl(LibC.newErrnoState(), fd, request, argument);
        if (result < 0) {
            throw new LinuxException("ioctl", -result);
        }
        return result;
    }

    /**
     * Fills native memory from an offset of the file on.
     *
     * @throws IOException if not all of it can be read
     */
    public static void read(int fd, long offset, MemorySegment into) throws IOException {
        check("pread", LibC.pread(LibC.newErrnoState(), fd, into.address(), into.byteSize(), offset), into.byteSize());
    }

    /**
     * Writes native memory to an offset of the file.
     *
     * @throws IOException if not all of it can be written
     */
    public static void write(int fd, long offset, MemorySegment from) throws IOException {
        check(
                "pwrite",
                LibC.pwrite(LibC.newErrnoState(), fd, from.address(), from.byteSize(), offset),
                from.byteSize());
    }

    private static void check(String call, long result, long wanted) throws IOException {
        if (result < 0) {
            throw new LinuxException(call, (int) -result);
        }
        if (result != wanted) {
            throw new IOException(call + ": only " + result + " of " + wanted + " bytes");
        }
    }
}

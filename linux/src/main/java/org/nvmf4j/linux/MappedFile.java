package org.nvmf4j.linux;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Files as memory, shared with all that map them. Unlike {@link FileChannel#map} this never changes the file's size and
 * tells why it failed, which device files of sysfs need.
 */
public final class MappedFile {
    private static final int O_RDWR = 2;
    private static final int O_CLOEXEC = 0x80000;

    private MappedFile() {}

    /**
     * Maps a part of a file for reading and writing, for as long as the arena lives. Touching a part beyond the file's
     * end, or of a device that has gone, is an {@link InternalError}. Where native calls are not possible the JDK maps.
     *
     * @param arena of any kind
     * @param offset a multiple of the page size
     * @param lengthBytes positive
     * @throws LinuxException if the system refuses, with the call's error number
     * @throws IOException if it refuses where native calls are not possible
     */
    public static MemorySegment map(Arena arena, Path file, long offset, long lengthBytes) throws IOException {
        if (offset < 0 || lengthBytes <= 0) {
            throw new IllegalArgumentException("cannot map " + lengthBytes + " bytes at offset " + offset);
        }
        if (!NativeAccess.isAvailable()) {
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                return channel.map(FileChannel.MapMode.READ_WRITE, offset, lengthBytes, arena);
            }
        }
        int fd = open(LibC.newErrnoState(), file);
        try {
            return map(arena, fd, offset, lengthBytes, file.toString());
        } finally {
            LibC.close(LibC.newErrnoState(), fd);
        }
    }

    /**
     * The same for a part of an open file, or of what else can be mapped, a dma-buf for one. It needs native calls, and all of the part
     * must be there.
     *
     * @param fd open for reading and writing, and the caller's: the mapping does not need it
     * @throws IOException if the system refuses, the file is shorter, or native calls are not possible
     */
    public static MemorySegment map(Arena arena, int fd, long offset, long lengthBytes) throws IOException {
        if (offset < 0 || lengthBytes <= 0) {
            throw new IllegalArgumentException("cannot map " + lengthBytes + " bytes at offset " + offset);
        }
        String name = "file descriptor " + fd;
        if (!NativeAccess.isAvailable()) {
            throw new IOException("cannot map " + name + ": " + NativeAccess.problem());
        }
        Path file = Path.of("/proc/self/fd/" + fd);
        if (Files.exists(file)) { // else the system says what is wrong with it
            long size = Files.size(file);
            boolean sized = size > 0 || Files.isRegularFile(file); // a character device has no size
            if (sized && (offset > size || lengthBytes > size - offset)) {
                throw new IOException("cannot map " + lengthBytes + " bytes at offset " + offset + " of " + name
                        + ", which holds " + size);
            }
        }
        return map(arena, fd, offset, lengthBytes, name);
    }

    private static MemorySegment map(Arena arena, int fd, long offset, long lengthBytes, String name)
            throws LinuxException {
        long mapped = LibC.mmapShared(LibC.newErrnoState(), fd, offset, lengthBytes);
        if (mapped < 0) {
            throw failure("mmap", (int) -mapped, name);
        }
        return MemorySegment.ofAddress(mapped)
                .reinterpret(lengthBytes, arena, memory -> LibC.munmap(LibC.newErrnoState(), mapped, lengthBytes));
    }

    /** A descriptor for reading and writing. */
    static int open(MemorySegment errnoState, Path file) throws LinuxException {
        try (Arena names = Arena.ofConfined()) {
            int fd = LibC.open(errnoState, names.allocateFrom(file.toString()).address(), O_RDWR | O_CLOEXEC);
            if (fd < 0) {
                throw failure("open", -fd, file.toString());
            }
            return fd;
        }
    }

    static LinuxException failure(String call, int errno, String file) {
        return new LinuxException(call, errno, call + " of " + file + ": " + SystemErrors.describe(errno));
    }
}

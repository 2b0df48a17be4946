package org.nvmf4j.linux;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
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
        MemorySegment errnoState = LibC.newErrnoState();
        int fd = open(errnoState, file);
        long mapped = LibC.mmapShared(errnoState, fd, offset, lengthBytes);
        LibC.close(LibC.newErrnoState(), fd);
        if (mapped < 0) {
            throw failure("mmap", (int) -mapped, file);
        }
        return MemorySegment.ofAddress(mapped)
                .reinterpret(lengthBytes, arena, memory -> LibC.munmap(LibC.newErrnoState(), mapped, lengthBytes));
    }

    private static int open(MemorySegment errnoState, Path file) throws LinuxException {
        try (Arena names = Arena.ofConfined()) {
            int fd = LibC.open(errnoState, names.allocateFrom(file.toString()).address(), O_RDWR | O_CLOEXEC);
            if (fd < 0) {
                throw failure("open", -fd, file);
            }
            return fd;
        }
    }

    private static LinuxException failure(String call, int errno, Path file) {
        return new LinuxException(call, errno, call + " of " + file + ": " + SystemErrors.describe(errno));
    }
}

package org.nvmf4j.linux;

import java.io.Closeable;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/**
 * A part of a file, claimed against all who claim it likewise, in other processes and in this one. Unlike {@link
 * java.nio.channels.FileLock} it belongs to its own opening of the file (Linux's open file description locks), so that
 * it stays when this process closes another. It ends with the process. Where native calls are not possible it is the
 * JDK's, which holds against other processes only until then.
 */
public final class FileRangeLock implements Closeable {
    private static final int F_OFD_SETLK = 37;
    private static final short F_WRLCK = 1;

    // struct flock; its other fields are 0, which for the start's origin is the file's start
    private static final int FLOCK_BYTES = 32;
    private static final int FLOCK_TYPE = 0;
    private static final int FLOCK_START = 8;
    private static final int FLOCK_LENGTH = 16;

    private @Nullable Closeable opened;

    private FileRangeLock(Closeable opened) {
        this.opened = opened;
    }

    /**
     * Claims a part, if nobody has any of it.
     *
     * @return null if somebody has
     * @throws IOException if the file cannot be opened for reading and writing, or cannot be locked
     */
    public static @Nullable FileRangeLock tryLock(Path file, long offset, long lengthBytes) throws IOException {
        if (offset < 0 || lengthBytes <= 0) {
            throw new IllegalArgumentException("cannot lock " + lengthBytes + " bytes at offset " + offset);
        }
        return NativeAccess.isAvailable()
                ? tryNative(file, offset, lengthBytes)
                : tryPortable(file, offset, lengthBytes);
    }

    private static @Nullable FileRangeLock tryNative(Path file, long offset, long lengthBytes) throws IOException {
        MemorySegment errnoState = LibC.newErrnoState();
        int fd = MappedFile.open(errnoState, file);
        int result;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment flock = arena.allocate(FLOCK_BYTES, Long.BYTES);
            flock.set(ValueLayout.JAVA_SHORT, FLOCK_TYPE, F_WRLCK);
            flock.set(ValueLayout.JAVA_LONG, FLOCK_START, offset);
            flock.set(ValueLayout.JAVA_LONG, FLOCK_LENGTH, lengthBytes);
            result = LibC.fcntl(errnoState, fd, F_OFD_SETLK, flock.address());
        }
        if (result >= 0) {
            return new FileRangeLock(() -> LibC.close(LibC.newErrnoState(), fd));
        }
        LibC.close(errnoState, fd);
        if (-result == SystemErrors.EAGAIN) {
            return null;
        }
        throw MappedFile.failure("fcntl", -result, file.toString());
    }

    private static @Nullable FileRangeLock tryPortable(Path file, long offset, long lengthBytes) throws IOException {
        FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
        boolean locked = false;
        try {
            locked = channel.tryLock(offset, lengthBytes, false) != null;
        } catch (OverlappingFileLockException e) {
            // Somebody in this process has it.
        } finally {
            if (!locked) {
                channel.close();
            }
        }
        return locked ? new FileRangeLock(channel) : null;
    }

    @Override
    public synchronized void close() throws IOException {
        Closeable ours = opened;
        opened = null;
        if (ours != null) {
            ours.close();
        }
    }
}

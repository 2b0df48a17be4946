package org.nvmf4j.target.backend;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.Set;
import org.nvmf4j.target.backend.FileBackendOptions.DirectIo;

/**
 * An open file with what was found out about it.
 *
 * @param sizeBytes whole blocks
 * @param alignmentBytes what direct I/O wants addresses, offsets and lengths to be multiples of; 1 without direct I/O
 * @param accessInWords how it is accessed, for the user
 */
record OpenedFile(
        FileChannel channel,
        long sizeBytes,
        int blockSizeBytes,
        int alignmentBytes,
        boolean readOnly,
        String accessInWords) {
    private static final int LARGE_BLOCK_BYTES = 4096;
    private static final int SMALL_BLOCK_BYTES = 512;

    static OpenedFile open(Path path, FileBackendOptions options) throws IOException {
        if (Files.isDirectory(path)) {
            throw new IOException("'" + path + "' is a directory; name a regular file or a block device");
        }
        create(path, options);
        FileChannel buffered = openChannel(path, options, false);
        try {
            lock(buffered, path, options);
            long size = buffered.size();
            int blockSize = blockSize(path, size, options.blockSizeBytes());
            if (options.directIo() == DirectIo.OFF) {
                return opened(buffered, size, blockSize, 1, options, "through the page cache");
            }
            return openDirect(path, options, buffered, size, blockSize);
        } catch (IOException | RuntimeException e) {
            buffered.close();
            throw e;
        }
    }

    /** Replaces the buffered channel by a direct one if that works. */
    private static OpenedFile openDirect(
            Path path, FileBackendOptions options, FileChannel buffered, long size, int blockSize) throws IOException {
        String obstacle;
        long alignment = 0;
        try {
            alignment = Files.getFileStore(path).getBlockSize();
            obstacle = alignment > blockSize
                    ? "the file system wants blocks of " + alignment + " bytes, the namespace has " + blockSize
                    : "";
        } catch (UnsupportedOperationException | IOException e) {
            obstacle = "the file system does not name its block size";
        }
        if (obstacle.isEmpty()) {
            try {
                FileChannel direct = openChannel(path, options, true);
                return opened(
                        lockInstead(direct, buffered, path, options),
                        size,
                        blockSize,
                        (int) alignment,
                        options,
                        "direct I/O");
            } catch (UnsupportedOperationException | FileSystemException e) {
                obstacle = "the file system has no direct I/O";
            }
        }
        if (options.directIo() == DirectIo.ON) {
            throw new IOException("no direct I/O on '" + path + "': " + obstacle
                    + "; leave direct=on out to go through the page cache");
        }
        return opened(buffered, size, blockSize, 1, options, "through the page cache, because " + obstacle);
    }

    private static OpenedFile opened(
            FileChannel channel, long size, int blockSize, int alignment, FileBackendOptions options, String words) {
        return new OpenedFile(
                channel,
                size,
                blockSize,
                alignment,
                options.readOnly(),
                options.readOnly() ? "read-only, " + words : words);
    }

    private static void create(Path path, FileBackendOptions options) throws IOException {
        if (options.createSizeBytes() == 0 || Files.exists(path)) {
            return;
        }
        try (FileChannel made = FileChannel.open(
                path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE, StandardOpenOption.SPARSE)) {
            ByteBuffer end = ByteBuffer.allocate(1);
            made.write(end, options.createSizeBytes() - 1);
        } catch (IOException e) {
            throw new IOException("cannot create '" + path + "': " + reason(e), e);
        }
    }

    /** The JDK's open option for it, by name because the compiler warns of a use that no annotation can excuse. */
    private static OpenOption directOption() {
        try {
            for (Object option :
                    Class.forName("com.sun.nio.file.ExtendedOpenOption").getEnumConstants()) {
                if (option instanceof OpenOption direct && option.toString().equals("DIRECT")) {
                    return direct;
                }
            }
        } catch (ClassNotFoundException e) {
            throw new UnsupportedOperationException("this JDK has no direct I/O", e);
        }
        throw new UnsupportedOperationException("this JDK has no direct I/O");
    }

    private static FileChannel openChannel(Path path, FileBackendOptions options, boolean direct) throws IOException {
        Set<OpenOption> flags = new HashSet<>();
        flags.add(StandardOpenOption.READ);
        if (!options.readOnly()) {
            flags.add(StandardOpenOption.WRITE);
        }
        if (direct) {
            flags.add(directOption());
            return FileChannel.open(path, flags);
        }
        try {
            return FileChannel.open(path, flags);
        } catch (NoSuchFileException e) {
            throw new IOException(
                    "no file '" + path + "'; add size=SIZE to create it, as in file:" + path + ",size=1G", e);
        } catch (AccessDeniedException e) {
            throw new IOException(
                    "no permission to open '" + path + "'"
                            + (options.readOnly() ? "" : " for writing; add ro to only read"),
                    e);
        } catch (IOException e) {
            throw new IOException("cannot open '" + path + "': " + reason(e), e);
        }
    }

    /** Two targets that write one file would ruin it. */
    private static void lock(FileChannel channel, Path path, FileBackendOptions options) throws IOException {
        try {
            if (channel.tryLock(0, Long.MAX_VALUE, options.readOnly()) != null) {
                return;
            }
        } catch (OverlappingFileLockException e) {
            throw new IOException("'" + path + "' is exported by this process already; name it once", e);
        } catch (IOException | UnsupportedOperationException e) {
            return; // no locks here
        }
        throw new IOException("'" + path + "' is in use by another target; end that one or export another file");
    }

    /** A process loses its lock on a file with the first channel that it closes, so the lock is taken again after that. */
    private static FileChannel lockInstead(
            FileChannel direct, FileChannel buffered, Path path, FileBackendOptions options) throws IOException {
        try {
            buffered.close();
            lock(direct, path, options);
            return direct;
        } catch (IOException e) {
            direct.close();
            throw e;
        }
    }

    private static int blockSize(Path path, long size, int wanted) throws IOException {
        int blockSize = wanted;
        if (blockSize == 0) {
            blockSize = size % LARGE_BLOCK_BYTES == 0 ? LARGE_BLOCK_BYTES : SMALL_BLOCK_BYTES;
        }
        if (size < blockSize) {
            throw new IOException("'" + path + "' has " + size + " bytes, less than one block of " + blockSize
                    + "; make it larger, as with: truncate -s 1G " + path);
        }
        if (size % blockSize != 0) {
            throw new IOException("'" + path + "' has " + size + " bytes, no multiple of the block size " + blockSize
                    + ", and its end would not be served; make it a multiple, as with: truncate -s %" + blockSize + " "
                    + path);
        }
        return blockSize;
    }

    private static String reason(IOException e) {
        return switch (e) {
            case NoSuchFileException _ -> "there is no such file or folder";
            case AccessDeniedException _ -> "permission denied";
            case FileSystemException file when file.getReason() != null -> file.getReason();
            default -> String.valueOf(e.getMessage());
        };
    }
}

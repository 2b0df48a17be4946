package org.nvmf4j.testkit.contract;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A file to map: where it is cut short, the memory behaves as that of a device that was unplugged. */
final class SharedFile implements AutoCloseable {
    private final Path path;
    private final FileChannel channel;
    private final long lengthBytes;

    /** A new file, all 0. */
    SharedFile(Path folder, long lengthBytes) throws IOException {
        this.path = Files.createTempFile(folder, "shared", "").toRealPath();
        this.lengthBytes = lengthBytes;
        Files.write(path, new byte[Math.toIntExact(lengthBytes)]);
        channel = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    MemorySegment map() throws IOException {
        return channel.map(FileChannel.MapMode.READ_WRITE, 0, lengthBytes, Arena.ofAuto());
    }

    /** Takes all of the memory away from {@code bytes} on. */
    void cutTo(long bytes) {
        try {
            channel.truncate(bytes);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}

package org.nvmf4j.testkit.contract;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.stream.Stream;

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

    /** The number under which this process has the file open. */
    int fd() throws IOException {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            return open.filter(this::isThis)
                    .mapToInt(fd -> Integer.parseInt(fd.getFileName().toString()))
                    .findFirst()
                    .orElseThrow();
        }
    }

    private boolean isThis(Path fd) {
        try {
            return Files.readSymbolicLink(fd).equals(path);
        } catch (IOException e) {
            return false; // closed meanwhile
        }
    }

    /** Whether a part of it is memory of this process. */
    boolean isMapped() throws IOException {
        try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
            return maps.anyMatch(line -> line.endsWith(path.toString()));
        }
    }

    byte[] bytes() throws IOException {
        return Files.readAllBytes(path);
    }

    /** Takes all of the memory away from {@code bytes} on. */
    void cutTo(long bytes) {
        try {
            channel.truncate(bytes);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Closes {@link #fd}, which leaves what is mapped as it is. */
    void closeDescriptor() throws IOException {
        channel.close();
    }

    @Override
    public void close() throws IOException {
        closeDescriptor();
    }
}

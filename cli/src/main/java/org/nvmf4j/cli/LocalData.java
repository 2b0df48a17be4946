package org.nvmf4j.cli;

import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.FileChannel;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** A file, or standard input or output, which is written {@code -}. */
final class LocalData implements AutoCloseable {
    private static final String STANDARD = "-";
    /** Where the length of the data is not known before its end. */
    static final long UNKNOWN = -1;

    private final ByteChannel channel;
    /** The channel, if what is behind it has a length. */
    private final @Nullable FileChannel file;

    private LocalData(ByteChannel channel, @Nullable FileChannel file) {
        this.channel = channel;
        this.file = file;
    }

    static LocalData open(String name) throws IOException {
        if (name.equals(STANDARD)) {
            // Not System.in: reading this channel ends when the thread is interrupted.
            return new LocalData(new InputOnly(new FileInputStream(FileDescriptor.in).getChannel()), null);
        }
        Path path = Path.of(name);
        if (Files.isDirectory(path)) {
            throw new IOException(name + " is a folder: name a file");
        }
        FileChannel channel = FileChannel.open(path, StandardOpenOption.READ);
        boolean pipe = !Files.isRegularFile(path) && channel.size() == 0;
        return new LocalData(channel, pipe ? null : channel);
    }

    /**
     * Looks whether a file of this name can be made.
     *
     * @throws IOException if its folder does not exist, or if it is a folder itself
     */
    static void checkFolder(String name) throws IOException {
        if (name.equals(STANDARD)) {
            return;
        }
        Path path = Path.of(name);
        if (Files.isDirectory(path)) {
            throw new IOException(name + " is a folder: name a file");
        }
        Path folder = path.toAbsolutePath().getParent();
        if (folder != null && !Files.isDirectory(folder)) {
            throw new IOException("cannot write " + name + ": there is no folder " + folder);
        }
    }

    static LocalData create(String name) throws IOException {
        if (name.equals(STANDARD)) {
            // Not System.out: it forgets what could not be written.
            return new LocalData(new OutputOnly(new FileOutputStream(FileDescriptor.out).getChannel()), null);
        }
        checkFolder(name);
        FileChannel file = FileChannel.open(
                Path.of(name),
                StandardOpenOption.WRITE,
                StandardOpenOption.CREATE,
                StandardOpenOption.TRUNCATE_EXISTING);
        return new LocalData(file, file);
    }

    ByteChannel channel() {
        return channel;
    }

    /** How much to copy: what was asked for, or all there is; {@link #UNKNOWN} for all of standard input or a pipe. */
    long length(@Nullable Long wanted) throws IOException {
        if (file == null) {
            return wanted == null ? UNKNOWN : wanted;
        }
        if (wanted != null && wanted > file.size()) {
            throw new IOException("--size " + wanted + " exceeds the file's " + file.size() + " bytes");
        }
        return wanted == null ? file.size() : wanted;
    }

    void sync() throws IOException {
        if (file != null && file.size() > 0) {
            file.force(true);
        }
    }

    static byte[] hash(Path path, LongConsumer progress) throws IOException {
        MessageDigest digest = NamespaceCopy.sha256();
        ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 20);
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.READ)) {
            for (int n = file.read(buffer); n >= 0; n = file.read(buffer)) {
                digest.update(buffer.flip());
                buffer.clear();
                progress.accept(n);
            }
        }
        return digest.digest();
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }

    private record InputOnly(ReadableByteChannel in) implements ByteChannel {
        @Override
        public int read(ByteBuffer into) throws IOException {
            return in.read(into);
        }

        @Override
        public int write(ByteBuffer from) {
            throw new java.nio.channels.NonWritableChannelException();
        }

        @Override
        public boolean isOpen() {
            return in.isOpen();
        }

        @Override
        public void close() throws IOException {
            in.close();
        }
    }

    private record OutputOnly(WritableByteChannel out) implements ByteChannel {
        @Override
        public int read(ByteBuffer into) {
            throw new java.nio.channels.NonReadableChannelException();
        }

        @Override
        public int write(ByteBuffer from) throws IOException {
            return out.write(from);
        }

        @Override
        public boolean isOpen() {
            return out.isOpen();
        }

        @Override
        public void close() throws IOException {
            out.close();
        }
    }
}

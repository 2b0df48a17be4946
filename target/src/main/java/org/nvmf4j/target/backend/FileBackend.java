package org.nvmf4j.target.backend;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.target.spi.BackendOperation;
import org.nvmf4j.target.spi.BackendRequest;
import org.nvmf4j.target.spi.BackendStatus;
import org.nvmf4j.target.spi.PeerClient;

/**
 * Blocks in a regular file or a block device. Reads and writes go around the page cache where the file system and the block size
 * allow (direct I/O), else through it. A completed flush, and a completed write with force unit access, are on the medium
 * (fdatasync). The JDK has no hole punching: zeroes are written, deallocating does nothing.
 *
 * <p>File operations block, so all of them are done by threads of the backend's own; whether the page cache holds the data, and a read
 * would not block, cannot be asked.
 */
public final class FileBackend implements Backend {
    private static final System.Logger LOG = System.getLogger(FileBackend.class.getName());
    private static final int MAX_LOGGED_ERRORS = 10;

    private final Path path;
    private final FileChannel channel;
    private final OpenedFile file;
    private final BackendThreads threads;
    private final FileTransfer[] transfers;
    private final FileTransfer onCallersThread;
    private final AtomicLong errors = new AtomicLong();

    private FileBackend(Path path, OpenedFile file, int threadCount) {
        this.path = path;
        this.file = file;
        this.channel = file.channel();
        this.transfers = new FileTransfer[threadCount];
        for (int i = 0; i < threadCount; i++) {
            transfers[i] = new FileTransfer(channel, file.alignmentBytes());
        }
        this.onCallersThread = new FileTransfer(channel, file.alignmentBytes());
        this.threads = new BackendThreads(
                "nvmf-file-" + path.getFileName(),
                threadCount,
                (request, thread) -> perform(request, transfers[thread]));
    }

    /**
     * Opens a file or block device.
     *
     * @throws IOException with one line that says what is in the way and what to do
     */
    public static FileBackend open(Path path, FileBackendOptions options) throws IOException {
        FileBackend backend = new FileBackend(path, OpenedFile.open(path, options), options.threads());
        backend.threads.start();
        return backend;
    }

    @Override
    public long sizeBytes() {
        return file.sizeBytes();
    }

    @Override
    public int preferredBlockSizeBytes() {
        return file.blockSizeBytes();
    }

    @Override
    public int minBlockSizeBytes() {
        return directIo() ? file.alignmentBytes() : 512;
    }

    @Override
    public boolean readOnly() {
        return file.readOnly();
    }

    @Override
    public boolean volatileWriteCache() {
        return true;
    }

    /** Whether the page cache is left out. */
    public boolean directIo() {
        return file.alignmentBytes() > 1;
    }

    /** The device under the file by direct I/O; else the CPU, which copies from and to the page cache. */
    @Override
    public PeerClient peerClient() {
        return directIo() ? new PeerClient.File(path) : new PeerClient.Cpu("the page cache of " + path);
    }

    /** Operations that failed. */
    public long errors() {
        return errors.get();
    }

    @Override
    public BackendStatus submit(BackendRequest request) {
        if (request.operation() == BackendOperation.DEALLOCATE) {
            return BackendStatus.SUCCESS;
        }
        if (threads.submit(request)) {
            return BackendStatus.PENDING;
        }
        // Thousands are waiting: doing this one here holds the lane up as the file does.
        synchronized (onCallersThread) {
            return perform(request, onCallersThread);
        }
    }

    private BackendStatus perform(BackendRequest request, FileTransfer transfer) {
        try {
            switch (request.operation()) {
                case READ -> transfer.read(request.data(), request.offsetBytes());
                case COMPARE -> {
                    return transfer.isSame(request.data(), request.offsetBytes())
                            ? BackendStatus.SUCCESS
                            : BackendStatus.COMPARE_FAILURE;
                }
                case WRITE -> transfer.write(request.data(), request.offsetBytes());
                case WRITE_ZEROES -> transfer.writeZeroes(request.offsetBytes(), request.lengthBytes());
                case FLUSH -> channel.force(false);
                case DEALLOCATE -> {
                    // Nothing to do.
                }
            }
            if (request.forceUnitAccess()) {
                channel.force(false);
            }
            return BackendStatus.SUCCESS;
        } catch (IOException e) {
            return failed(request, e);
        }
    }

    private BackendStatus failed(BackendRequest request, IOException e) {
        String message = String.valueOf(e.getMessage());
        if (request.mayVanish() && message.contains("Bad address")) {
            return BackendStatus.DATA_LOST; // EFAULT: not the file's fault
        }
        long count = errors.incrementAndGet();
        if (count <= MAX_LOGGED_ERRORS) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    request.operation() + " of " + request.lengthBytes() + " bytes at " + request.offsetBytes() + " of "
                            + path + " failed: " + e.getMessage()
                            + (count == MAX_LOGGED_ERRORS ? " (further errors are only counted)" : ""));
        }
        boolean full = message.contains("No space left") || message.contains("quota");
        return full ? BackendStatus.CAPACITY_EXCEEDED : BackendStatus.MEDIA_ERROR;
    }

    @Override
    public String description() {
        return "file " + path + ", " + file.accessInWords();
    }

    @Override
    public void close() throws IOException {
        threads.close();
        channel.close();
    }
}

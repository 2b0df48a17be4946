package org.nvmf4j.target.backend;

/**
 * How a {@link FileBackend} opens its file.
 *
 * @param readOnly take no writes
 * @param directIo go around the page cache: always, never, or where it works
 * @param blockSizeBytes the namespace's block size, 0 for one that suits the file
 * @param createSizeBytes size of a new sparse file to make if there is none, 0 to make none
 * @param threads how many operations are under way in the file at a time, 1 to 256
 */
public record FileBackendOptions(
        boolean readOnly, DirectIo directIo, int blockSizeBytes, long createSizeBytes, int threads) {
    /** Read and write, direct where it works, an existing file, eight threads. */
    public static final FileBackendOptions DEFAULT = new FileBackendOptions(false, DirectIo.AUTO, 0, 0, 8);

    /** Whether to go around the page cache. */
    public enum DirectIo {
        /** Where the file system and the block size allow; the {@linkplain FileBackend#description description} says what it is. */
        AUTO,
        /** Refuse to open otherwise. */
        ON,
        /** Through the page cache. */
        OFF
    }

    public FileBackendOptions {
        if (blockSizeBytes != 0 && blockSizeBytes != 512 && blockSizeBytes != 4096) {
            throw new IllegalArgumentException("block size must be 512 or 4096 bytes, not " + blockSizeBytes);
        }
        if (createSizeBytes < 0) {
            throw new IllegalArgumentException("a file cannot have " + createSizeBytes + " bytes");
        }
        if (threads < 1 || threads > 256) {
            throw new IllegalArgumentException("a file backend has 1 to 256 threads, not " + threads);
        }
    }

    public FileBackendOptions withReadOnly(boolean readOnly) {
        return new FileBackendOptions(readOnly, directIo, blockSizeBytes, createSizeBytes, threads);
    }

    public FileBackendOptions withDirectIo(DirectIo directIo) {
        return new FileBackendOptions(readOnly, directIo, blockSizeBytes, createSizeBytes, threads);
    }

    public FileBackendOptions withBlockSizeBytes(int blockSizeBytes) {
        return new FileBackendOptions(readOnly, directIo, blockSizeBytes, createSizeBytes, threads);
    }

    public FileBackendOptions withCreateSizeBytes(long createSizeBytes) {
        return new FileBackendOptions(readOnly, directIo, blockSizeBytes, createSizeBytes, threads);
    }

    public FileBackendOptions withThreads(int threads) {
        return new FileBackendOptions(readOnly, directIo, blockSizeBytes, createSizeBytes, threads);
    }
}

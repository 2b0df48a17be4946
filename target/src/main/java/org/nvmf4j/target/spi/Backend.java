package org.nvmf4j.target.spi;

import java.io.IOException;
import java.util.Optional;
import java.util.UUID;

/**
 * Where the blocks of a namespace live: a file, memory, a device.
 *
 * <p>Threading: {@link #submit} is called on the lanes of the target, on several at a time, and must not block; work that may
 * block is handed to threads of the backend's own. A backend that has something of its own for each lane says so by {@link #laneLimit}. Requests are independent of each other and may end in any order, as NVMe
 * commands may. Nothing may be allocated per request.
 *
 * <p>The target has checked each request before: it lies within {@link #sizeBytes} and is aligned to the namespace's blocks, and
 * nothing that writes comes to a {@linkplain #readOnly read-only} backend.
 */
public interface Backend extends AutoCloseable {
    /** Size in bytes, which does not change. */
    long sizeBytes();

    /** The block size, 512 or 4096 bytes, that suits this backend where the user names none. */
    int preferredBlockSizeBytes();

    /** The smallest block size that it can serve: offsets and lengths of all requests are multiples of it. */
    default int minBlockSizeBytes() {
        return 512;
    }

    /** Whether writes are refused. */
    default boolean readOnly() {
        return false;
    }

    /**
     * Whether a completed write may be lost with the power until a flush completes. Then {@link BackendRequest#forceUnitAccess} must be
     * obeyed.
     */
    default boolean volatileWriteCache() {
        return false;
    }

    /**
     * Whether every read returns zeroes, whatever was written. The target then answers reads from memory of its own that is zero, and
     * submits none.
     */
    default boolean readsZeroes() {
        return false;
    }

    /** How it likes to be used. */
    default OptimalSizes optimalSizes() {
        return OptimalSizes.UNKNOWN;
    }

    /** Identity of its data, the same wherever and whenever it is exported, if it knows one. */
    default Optional<UUID> identity() {
        return Optional.empty();
    }

    /** Who moves the data of reads and writes, and so must reach the peer memory that it passes through; the CPU by default. */
    default PeerClient peerClient() {
        return new PeerClient.Cpu(description());
    }

    /**
     * Starts a request, and finishes it if that takes no waiting.
     *
     * @return how it ended; or {@link BackendStatus#PENDING} if {@link BackendRequest#complete} was or will be called, exactly once. The
     *     request and its data are the backend's until then
     */
    BackendStatus submit(BackendRequest request);

    /**
     * How many lanes it can have a {@link BackendLane} for, which then take all requests; a target with more lanes does not take it. 0,
     * which is the default, if it has none and {@link #submit} serves any lane.
     */
    default int laneLimit() {
        return 0;
    }

    /**
     * Makes its part of a lane; called on the lane when that first has a request for it, if {@link #laneLimit} is not 0.
     *
     * @param wakeUp has the lane {@link BackendLane#poll} soon; from any thread
     * @throws IOException with one line, if there is none to be had now; the request then fails, and the next one tries again
     */
    default BackendLane openLane(Runnable wakeUp) throws IOException {
        throw new UnsupportedOperationException(description() + " has nothing of its own for a lane");
    }

    /** What it is, in a few words, such as {@code file /srv/disk.img, direct I/O}. */
    String description();

    /** Frees what it holds; called once, after every request has ended and every {@link BackendLane} is closed. */
    @Override
    void close() throws IOException;
}

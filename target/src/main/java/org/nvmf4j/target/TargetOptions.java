package org.nvmf4j.target;

import org.nvmf4j.verbs.IdleStrategy;

/**
 * How a target works.
 *
 * @param inCapsuleDataBytes write data that fits goes along with the command: 0 (none) to 16384, a multiple of 16
 * @param maxTransferBytes the most that one command moves: 8192 to 1 MiB, a power of two; MDTS cannot say less, where one page of 4096
 *     bytes would be 0, which means no limit
 * @param maxQueueSize entries of the largest I/O queue, 2 to 1024
 * @param maxIoQueues I/O queues of a controller, 1 to 1024
 * @param dataBufferBytes data buffers of a lane at most; they are taken as they are needed
 * @param queueMemoryBytes memory of all queues together at most; connections beyond are rejected
 * @param idle how lanes that the target starts by itself wait
 */
public record TargetOptions(
        int inCapsuleDataBytes,
        int maxTransferBytes,
        int maxQueueSize,
        int maxIoQueues,
        long dataBufferBytes,
        long queueMemoryBytes,
        IdleStrategy idle) {
    /** Entries of an admin queue at most. */
    public static final int ADMIN_QUEUE_SIZE = 32;
    /** In-capsule data above this damages writes of Linux hosts from 5.4 to 5.12 that have several segments. */
    public static final int SAFE_IN_CAPSULE_DATA_BYTES = 4096;

    private static final int MAX_IN_CAPSULE_DATA_BYTES = 16384;
    private static final int MIN_TRANSFER_BYTES = 8192;
    private static final int MAX_TRANSFER_BYTES = 1 << 20;

    /** 4 KiB in-capsule data, 1 MiB transfers, queues of 1024, 128 of them per controller, 64 MiB of buffers per lane. */
    public static final TargetOptions DEFAULT =
            new TargetOptions(4096, 1 << 20, 1024, 128, 64L << 20, 1L << 30, IdleStrategy.BACKOFF);

    public TargetOptions {
        if (inCapsuleDataBytes < 0 || inCapsuleDataBytes > MAX_IN_CAPSULE_DATA_BYTES || inCapsuleDataBytes % 16 != 0) {
            throw new IllegalArgumentException(
                    "in-capsule data size must be 0 to 16384 and a multiple of 16, not " + inCapsuleDataBytes);
        }
        if (maxTransferBytes < MIN_TRANSFER_BYTES
                || maxTransferBytes > MAX_TRANSFER_BYTES
                || Integer.bitCount(maxTransferBytes) != 1) {
            throw new IllegalArgumentException(
                    "largest transfer must be a power of two from 8192 to 1048576 bytes, not " + maxTransferBytes);
        }
        if (maxQueueSize < 2 || maxQueueSize > 1024) {
            throw new IllegalArgumentException("queue size must be 2 to 1024, not " + maxQueueSize);
        }
        if (maxIoQueues < 1 || maxIoQueues > 1024) {
            throw new IllegalArgumentException("a controller has 1 to 1024 I/O queues, not " + maxIoQueues);
        }
        if (dataBufferBytes < maxTransferBytes) {
            throw new IllegalArgumentException(
                    "data buffers of " + dataBufferBytes + " bytes do not hold one transfer of " + maxTransferBytes);
        }
    }

    public TargetOptions withInCapsuleDataBytes(int inCapsuleDataBytes) {
        return new TargetOptions(
                inCapsuleDataBytes,
                maxTransferBytes,
                maxQueueSize,
                maxIoQueues,
                dataBufferBytes,
                queueMemoryBytes,
                idle);
    }

    public TargetOptions withMaxTransferBytes(int maxTransferBytes) {
        return new TargetOptions(
                inCapsuleDataBytes,
                maxTransferBytes,
                maxQueueSize,
                maxIoQueues,
                dataBufferBytes,
                queueMemoryBytes,
                idle);
    }

    public TargetOptions withMaxQueueSize(int maxQueueSize) {
        return new TargetOptions(
                inCapsuleDataBytes,
                maxTransferBytes,
                maxQueueSize,
                maxIoQueues,
                dataBufferBytes,
                queueMemoryBytes,
                idle);
    }

    public TargetOptions withMaxIoQueues(int maxIoQueues) {
        return new TargetOptions(
                inCapsuleDataBytes,
                maxTransferBytes,
                maxQueueSize,
                maxIoQueues,
                dataBufferBytes,
                queueMemoryBytes,
                idle);
    }

    public TargetOptions withDataBufferBytes(long dataBufferBytes) {
        return new TargetOptions(
                inCapsuleDataBytes,
                maxTransferBytes,
                maxQueueSize,
                maxIoQueues,
                dataBufferBytes,
                queueMemoryBytes,
                idle);
    }

    public TargetOptions withQueueMemoryBytes(long queueMemoryBytes) {
        return new TargetOptions(
                inCapsuleDataBytes,
                maxTransferBytes,
                maxQueueSize,
                maxIoQueues,
                dataBufferBytes,
                queueMemoryBytes,
                idle);
    }

    public TargetOptions withIdle(IdleStrategy idle) {
        return new TargetOptions(
                inCapsuleDataBytes,
                maxTransferBytes,
                maxQueueSize,
                maxIoQueues,
                dataBufferBytes,
                queueMemoryBytes,
                idle);
    }
}

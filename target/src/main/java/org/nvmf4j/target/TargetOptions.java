package org.nvmf4j.target;

import org.nvmf4j.verbs.IdleStrategy;

/** How a {@link Target} works, checked when it is built; immutable. */
public final class TargetOptions {
    /** Entries of an admin queue at most. */
    public static final int ADMIN_QUEUE_SIZE = 32;
    /** In-capsule data above this damages writes of Linux hosts from 5.4 to 5.12 that have several segments. */
    public static final int SAFE_IN_CAPSULE_DATA_BYTES = 4096;

    private static final int MAX_IN_CAPSULE_DATA_BYTES = 16384;
    private static final int MIN_TRANSFER_BYTES = 8192;
    private static final int MAX_TRANSFER_BYTES = 1 << 20;

    private final int inCapsuleDataBytes;
    private final int maxTransferBytes;
    private final int maxQueueSize;
    private final int maxIoQueues;
    private final long dataBufferBytes;
    private final long queueMemoryBytes;
    private final IdleStrategy idle;

    private TargetOptions(Builder b) {
        inCapsuleDataBytes = b.inCapsuleDataBytes;
        maxTransferBytes = b.maxTransferBytes;
        maxQueueSize = b.maxQueueSize;
        maxIoQueues = b.maxIoQueues;
        dataBufferBytes = b.dataBufferBytes;
        queueMemoryBytes = b.queueMemoryBytes;
        idle = b.idle;
    }

    /** Everything by default. */
    public static TargetOptions defaults() {
        return builder().build();
    }

    public static Builder builder() {
        return new Builder();
    }

    /** Write data that fits goes along with the command: 0 (none) to 16384, a multiple of 16. Default 4096. */
    public int inCapsuleDataBytes() {
        return inCapsuleDataBytes;
    }

    /**
     * The most that one command moves: 8192 to 1 MiB, a power of two; MDTS cannot say less, where one page of 4096 bytes would be 0,
     * which means no limit. Default 1 MiB.
     */
    public int maxTransferBytes() {
        return maxTransferBytes;
    }

    /** Entries of the largest I/O queue, 2 to 1024. Default 1024. */
    public int maxQueueSize() {
        return maxQueueSize;
    }

    /** I/O queues of a controller, 1 to 1024. Default 128. */
    public int maxIoQueues() {
        return maxIoQueues;
    }

    /** Data buffers of a lane at most; they are taken as they are needed. Default 64 MiB. */
    public long dataBufferBytes() {
        return dataBufferBytes;
    }

    /** Memory of all queues together at most; connections beyond are rejected. Default 1 GiB. */
    public long queueMemoryBytes() {
        return queueMemoryBytes;
    }

    /** How lanes that the target starts by itself wait. Default {@link IdleStrategy#BACKOFF}. */
    public IdleStrategy idle() {
        return idle;
    }

    /** Collects options; {@link #build} checks them. */
    public static final class Builder {
        private int inCapsuleDataBytes = SAFE_IN_CAPSULE_DATA_BYTES;
        private int maxTransferBytes = MAX_TRANSFER_BYTES;
        private int maxQueueSize = 1024;
        private int maxIoQueues = 128;
        private long dataBufferBytes = 64L << 20;
        private long queueMemoryBytes = 1L << 30;
        private IdleStrategy idle = IdleStrategy.BACKOFF;

        private Builder() {}

        public Builder inCapsuleDataBytes(int value) {
            inCapsuleDataBytes = value;
            return this;
        }

        public Builder maxTransferBytes(int value) {
            maxTransferBytes = value;
            return this;
        }

        public Builder maxQueueSize(int value) {
            maxQueueSize = value;
            return this;
        }

        public Builder maxIoQueues(int value) {
            maxIoQueues = value;
            return this;
        }

        public Builder dataBufferBytes(long value) {
            dataBufferBytes = value;
            return this;
        }

        public Builder queueMemoryBytes(long value) {
            queueMemoryBytes = value;
            return this;
        }

        public Builder idle(IdleStrategy value) {
            idle = value;
            return this;
        }

        /**
         * The options.
         *
         * @throws IllegalArgumentException with one line that names the option and its range
         */
        public TargetOptions build() {
            if (inCapsuleDataBytes < 0
                    || inCapsuleDataBytes > MAX_IN_CAPSULE_DATA_BYTES
                    || inCapsuleDataBytes % 16 != 0) {
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
                throw new IllegalArgumentException("data buffers of " + dataBufferBytes
                        + " bytes do not hold one transfer of " + maxTransferBytes);
            }
            return new TargetOptions(this);
        }
    }
}

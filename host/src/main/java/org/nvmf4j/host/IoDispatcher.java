package org.nvmf4j.host;

import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.verbs.Agent;
import org.nvmf4j.verbs.VerbsException;

/**
 * Runs an I/O queue on a lane with a thread of its own, for tasks from any thread: in order of arrival, as the queue and the bounce
 * memory have room.
 */
final class IoDispatcher implements Agent, IoHandler {
    /** The most that one piece of a copied task has. */
    private static final int PIECE_BYTES = 128 << 10;

    private static final int BOUNCE_BYTES = 4 << 20;

    private final IoQueue queue;
    private final HostMemory memory;
    private final ArrayDeque<IoTask> waiting = new ArrayDeque<>();
    private final @Nullable IoTask[] tasks;
    private final long[] memoryOffset;
    private final int[] bounceOffset;
    private final int[] bounceLength;
    private final int[] freeTags;
    private int freeTagCount;
    private final BouncePool pool = new BouncePool(BOUNCE_BYTES / BouncePool.UNIT_BYTES);
    private @Nullable RegisteredBuffer bounce;

    IoDispatcher(IoQueue queue, HostMemory memory) {
        this.queue = queue;
        this.memory = memory;
        int capacity = queue.capacity();
        tasks = new @Nullable IoTask[capacity];
        memoryOffset = new long[capacity];
        bounceOffset = new int[capacity];
        bounceLength = new int[capacity];
        freeTags = new int[capacity];
        for (int tag = capacity - 1; tag >= 0; tag--) {
            freeTags[freeTagCount++] = tag;
        }
    }

    /** Joins the lane's cycle before the queue connects, and leaves it with the queue's end. From any thread. */
    void start() {
        queue.lane().execute(() -> {
            queue.handler(this);
            queue.lane().lane().add(this);
            queue.beforeClosed(this::onQueueClosed);
        });
    }

    /** Takes a task; from any thread. Its future ends exactly once, on the lane. */
    void submit(IoTask task) {
        if (!queue.lane().executeIfOpen(() -> accept(task))) {
            task.lost(new TransportException("the host was closed"));
        }
    }

    private void accept(IoTask task) {
        if (queue.isClosed()) {
            task.lost(queue.endCause());
            return;
        }
        if (task.memory != null && bounce == null) {
            try {
                bounce = memory.allocate(BOUNCE_BYTES);
            } catch (VerbsException e) {
                task.lost(new HostException("no memory to copy through: " + e.getMessage(), e));
                return;
            }
        }
        waiting.add(task);
        issueWaiting();
    }

    private void issueWaiting() {
        for (IoTask task = waiting.peek(); task != null && issue(task); task = waiting.peek()) {
            waiting.remove();
        }
    }

    /** Sends as much of a task as there is room for; whether that was all of it. */
    private boolean issue(IoTask task) {
        while (task.blocksLeft() > 0) {
            if (freeTagCount == 0 || queue.outstanding() == queue.capacity()) {
                return false;
            }
            int blocks = task.memory == null ? issueWhole(task) : issuePiece(task, task.memory);
            if (blocks == 0) {
                return false;
            }
            task.blocksIssued += blocks;
            task.pieces++;
        }
        return true;
    }

    private int issueWhole(IoTask task) {
        int tag = freeTags[freeTagCount - 1];
        boolean taken;
        if (task.buffer == null) {
            taken = queue.submitFlush(task.namespace, tag);
        } else {
            taken = submit(task, task.blocks, task.buffer, task.bufferOffset, tag);
        }
        if (!taken) {
            return 0;
        }
        take(task);
        bounceLength[tag] = 0;
        return task.blocks;
    }

    private int issuePiece(IoTask task, MemorySegment user) {
        int shift = task.namespace.blockShift();
        int blocks = Math.min(task.blocksLeft(), Math.max(1, PIECE_BYTES >> shift));
        int length = blocks << shift;
        RegisteredBuffer buffer = bounce;
        int at = buffer == null ? -1 : pool.allocate(length);
        if (buffer == null || at < 0) {
            return 0;
        }
        long userOffset = (long) task.blocksIssued << shift;
        if (task.opcode == IoOpcode.WRITE) {
            MemorySegment.copy(user, userOffset, buffer.segment(), at, length);
        }
        int tag = freeTags[freeTagCount - 1];
        if (!submit(task, blocks, buffer, at, tag)) {
            pool.free(at, length);
            return 0;
        }
        take(task);
        memoryOffset[tag] = userOffset;
        bounceOffset[tag] = at;
        bounceLength[tag] = length;
        return blocks;
    }

    private boolean submit(IoTask task, int blocks, RegisteredBuffer buffer, long offset, int tag) {
        return task.opcode == IoOpcode.READ
                ? queue.submitRead(task.namespace, task.nextLba(), blocks, buffer, offset, tag)
                : queue.submitWrite(task.namespace, task.nextLba(), blocks, buffer, offset, tag);
    }

    private void take(IoTask task) {
        tasks[freeTags[--freeTagCount]] = task;
    }

    @Override
    public void onCompletion(long tag, int status) {
        int index = (int) tag;
        IoTask task = tasks[index];
        if (task == null) {
            throw new AssertionError("a request completed twice");
        }
        tasks[index] = null;
        freeTags[freeTagCount++] = index;
        if (bounceLength[index] > 0) {
            returnBounce(task, index, status);
        }
        task.onPieceEnded(status);
        if (task.hasEnded()) {
            task.finish(queue.isClosed() ? queue.endCause() : null);
        }
    }

    private void returnBounce(IoTask task, int index, int status) {
        if (status == NvmeStatus.SUCCESS && task.opcode == IoOpcode.READ && task.memory != null && bounce != null) {
            MemorySegment.copy(
                    bounce.segment(), bounceOffset[index], task.memory, memoryOffset[index], bounceLength[index]);
        }
        pool.free(bounceOffset[index], bounceLength[index]);
    }

    @Override
    public int doWork(long nowNanos) {
        int work = queue.progress();
        if (!waiting.isEmpty()) {
            issueWaiting();
        }
        return work;
    }

    /** The queue has ended and with it what it held; what still waits ends too. */
    private void onQueueClosed() {
        queue.lane().lane().remove(this);
        for (IoTask task = waiting.poll(); task != null; task = waiting.poll()) {
            if (!task.hasEnded()) {
                task.lost(queue.endCause());
            }
        }
        assert pool.isEmpty() && freeTagCount == tasks.length : "bounce memory or a tag was lost";
        if (bounce != null) {
            bounce.close();
            bounce = null;
        }
    }

    IoQueue queue() {
        return queue;
    }
}

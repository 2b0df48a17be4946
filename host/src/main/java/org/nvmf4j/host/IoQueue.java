package org.nvmf4j.host;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.RdmaPrivateData;
import org.nvmf4j.nvme.ReadWriteCommand;
import org.nvmf4j.nvme.SglDescriptor;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.verbs.Agent;

/**
 * An I/O queue: submit, then poll for completions. It belongs to one thread, the one that opened it ({@link
 * Controller#openIoQueue}), which polls it again and again: that poll sends, receives and keeps time for the whole completion vector.
 * Nothing here allocates after the queue is open.
 *
 * <p>A request may be of any size: what exceeds the controller's limit for one command goes as several, and the request completes
 * once, after all of them. It is taken if there is room for a request, and then waits by itself for room for its commands.
 *
 * <p>When the queue ends (connection lost, time limit exceeded, closed), every outstanding request completes once with {@link
 * NvmeStatus#ABORTED_BY_HOST}, later submissions are not taken and {@link #poll} throws the cause.
 */
public final class IoQueue implements AutoCloseable {
    private static final IoHandler NO_HANDLER = (tag, status) -> {};

    private final QueueContext context;
    private final CommandQueue queue;
    private final int inCapsuleBytes;
    private final Consumer<HostException> onLost;
    private final Ticker ticker = new Ticker();
    private final CompletableFuture<Void> closed = new CompletableFuture<>();
    private final AdminCommand connectCommand;
    private @Nullable ControlCommand connecting;

    private final IoRequest[] bySlot;
    private final IoRequest idle = new IoRequest();
    private @Nullable IoRequest free;
    private @Nullable IoRequest pendingHead;
    private @Nullable IoRequest pendingTail;
    private int outstanding;
    private IoHandler handler = NO_HANDLER;
    private int delivered;
    private Runnable beforeClosed = () -> {};

    /**
     * Does nothing yet.
     *
     * @param connectCommand the Fabrics Connect that makes this a queue of its controller
     * @param inCapsuleBytes how much in-capsule data the controller takes
     * @param onLost told on the lane, when everything has ended, if that was not by {@link #close}
     */
    IoQueue(
            QueueContext context,
            QueueLabel label,
            int queueSize,
            int inCapsuleBytes,
            AdminCommand connectCommand,
            Consumer<HostException> onLost) {
        this.context = context;
        this.inCapsuleBytes = inCapsuleBytes;
        this.connectCommand = connectCommand;
        this.onLost = onLost;
        queue = new CommandQueue(
                label, queueSize, context.commandTimeoutNanos(), context.connectTimeoutNanos(), new Events());
        bySlot = new IoRequest[queue.slots()];
        for (int i = 0; i < bySlot.length; i++) {
            bySlot[i] = idle;
            IoRequest request = new IoRequest();
            request.next = free;
            free = request;
        }
    }

    /** Connects the transport and then the queue to its controller; from any thread. */
    CompletableFuture<AdminCompletion> connect(int controllerId) {
        ControlCommand control = new ControlCommand(connectCommand, true);
        context.lane().execute(() -> {
            context.lane().lane().add(ticker);
            connecting = control;
            queue.connect(
                    context,
                    new RdmaPrivateData.Request(queue.label().qid(), queue.slots() + 1, queue.slots(), controllerId));
        });
        return control.future();
    }

    /** Requests that may be outstanding: one less than the queue's entries. */
    public int capacity() {
        return bySlot.length;
    }

    /** Requests that were submitted and have not completed. */
    public int outstanding() {
        return outstanding;
    }

    /** From 1. */
    public int id() {
        return queue.label().qid();
    }

    /**
     * Submits a read.
     *
     * @param lba first logical block
     * @param blocks how many, from 1
     * @param buffer where to
     * @param offset of the first byte in the buffer
     * @param tag given back with the completion
     * @return false if there is no room before a request completes, or the queue has ended
     * @throws IndexOutOfBoundsException if the buffer does not have the bytes
     */
    public boolean submitRead(
            Namespace namespace, long lba, int blocks, RegisteredBuffer buffer, long offset, long tag) {
        return submit(IoOpcode.READ, namespace, lba, blocks, buffer, offset, tag);
    }

    /** Submits a write; as {@link #submitRead}. What fits travels with its command, everything else is fetched by the target. */
    public boolean submitWrite(
            Namespace namespace, long lba, int blocks, RegisteredBuffer buffer, long offset, long tag) {
        return submit(IoOpcode.WRITE, namespace, lba, blocks, buffer, offset, tag);
    }

    /**
     * Submits a flush: what was completed before it was submitted is on stable storage once it completes.
     *
     * @return as {@link #submitRead}
     */
    public boolean submitFlush(Namespace namespace, long tag) {
        IoRequest request = take();
        if (request == null) {
            return false;
        }
        request.set(IoOpcode.FLUSH, namespace, 0, 1, null, 0, tag);
        start(request);
        return true;
    }

    private boolean submit(
            int opcode, Namespace namespace, long lba, int blocks, RegisteredBuffer buffer, long offset, long tag) {
        long lengthBytes = (long) blocks << namespace.blockShift();
        if (blocks < 1 || offset < 0 || offset > buffer.lengthBytes() || lengthBytes > buffer.lengthBytes() - offset) {
            throw outOfBounds(namespace, blocks, buffer, offset);
        }
        IoRequest request = take();
        if (request == null) {
            return false;
        }
        request.set(opcode, namespace, lba, blocks, buffer, offset, tag);
        start(request);
        return true;
    }

    private static IndexOutOfBoundsException outOfBounds(
            Namespace namespace, int blocks, RegisteredBuffer buffer, long offset) {
        return new IndexOutOfBoundsException(blocks + " blocks of " + namespace.blockBytes() + " bytes at offset "
                + offset + " are not within a buffer of " + buffer.lengthBytes() + " bytes");
    }

    private @Nullable IoRequest take() {
        IoRequest request = free;
        if (request == null || !queue.isConnected()) {
            return null;
        }
        free = request.next;
        request.next = null;
        outstanding++;
        return request;
    }

    private void start(IoRequest request) {
        if (pendingHead == null) {
            issue(request);
            if (request.blocksLeft == 0) {
                return;
            }
            pendingHead = request;
        } else if (pendingTail != null) {
            pendingTail.next = request;
        }
        pendingTail = request;
    }

    /** Sends as many of a request's commands as there is room for. */
    private void issue(IoRequest request) {
        while (request.blocksLeft > 0 && queue.canBegin()) {
            int slot = queue.begin();
            bySlot[slot] = request;
            request.commands++;
            if (request.buffer == null) {
                SubmissionQueueEntry.write(
                        queue.capsule(), queue.capsuleOffset(), request.opcode, queue.commandId(slot), request.nsid);
                request.blocksLeft = 0;
                queue.post();
            } else {
                issueData(request, request.buffer, slot);
            }
        }
    }

    private void issueData(IoRequest request, RegisteredBuffer buffer, int slot) {
        MemorySegment capsule = queue.capsule();
        long at = queue.capsuleOffset();
        long dptr = at + SubmissionQueueEntry.DPTR_OFFSET;
        int blocks = Math.min(request.blocksLeft, request.maxBlocks);
        int lengthBytes = blocks << request.blockShift;
        long offset = request.offset;
        ReadWriteCommand.write(
                capsule, at, request.opcode, queue.commandId(slot), request.nsid, request.lba, blocks, false);
        if (request.opcode == IoOpcode.WRITE && lengthBytes <= inCapsuleBytes) {
            SglDescriptor.writeInCapsule(capsule, dptr, 0, lengthBytes);
            queue.postWithData(slot, buffer.segment(), offset, lengthBytes, buffer.lkey());
        } else {
            // The key stays valid: the registration outlives the request.
            SglDescriptor.writeKeyed(capsule, dptr, buffer.address() + offset, lengthBytes, buffer.rkey(), false);
            queue.post();
        }
        request.lba += blocks;
        request.blocksLeft -= blocks;
        request.offset = offset + lengthBytes;
    }

    private void issuePending() {
        while (pendingHead != null) {
            IoRequest head = pendingHead;
            issue(head);
            if (head.blocksLeft > 0) {
                return;
            }
            removeHead(head);
        }
    }

    private void removeHead(IoRequest head) {
        pendingHead = head.next;
        head.next = null;
        if (pendingHead == null) {
            pendingTail = null;
        }
    }

    private void onCommandEnded(int slot, int status) {
        IoRequest request = bySlot[slot];
        bySlot[slot] = idle;
        request.commands--;
        if (!NvmeStatus.isSuccess(status)) {
            if (request.status == NvmeStatus.SUCCESS) {
                request.status = status;
            }
            if (request.blocksLeft > 0) {
                // The rest of a failed request is not sent. Only the first pending request can have commands.
                request.blocksLeft = 0;
                removeHead(request);
            }
        }
        if (request.commands == 0 && request.blocksLeft == 0) {
            finish(request);
        }
    }

    private void finish(IoRequest request) {
        long tag = request.tag;
        int status = request.status;
        request.buffer = null;
        request.next = free;
        free = request;
        outstanding--;
        delivered++;
        handler.onCompletion(tag, status);
    }

    /**
     * Runs one cycle of the queue's completion vector and hands over the requests that have completed. Call it in a loop: nothing
     * moves otherwise.
     *
     * @return how many requests completed
     * @throws HostException if the queue has ended and every request has completed
     */
    public int poll(IoHandler handler) throws HostException {
        this.handler = handler;
        context.lane().doWork();
        int count = progress();
        if (count == 0 && queue.isClosed()) {
            throw queue.endCause();
        }
        return count;
    }

    /** Handles what has completed, on the lane. */
    int progress() {
        delivered = 0;
        queue.poll();
        if (pendingHead != null) {
            issuePending();
        }
        return delivered;
    }

    void handler(IoHandler newHandler) {
        handler = newHandler;
    }

    /** Ends the queue with a cause; from any thread. Takes effect when the lane runs. */
    void fail(HostException cause) {
        context.lane().executeIfOpen(() -> queue.fail(cause));
    }

    /** Ends the queue in good order; from any thread. The future completes when the lane has run. */
    CompletableFuture<Void> disconnect() {
        if (!context.lane().executeIfOpen(queue::disconnect)) {
            closed.complete(null);
        }
        return closed;
    }

    /** Has something done when the queue has ended, before anybody who waits for that goes on; on the lane. */
    void beforeClosed(Runnable action) {
        if (closed.isDone()) {
            action.run();
        } else {
            beforeClosed = action;
        }
    }

    /** Completes on the lane when everything has ended. */
    CompletableFuture<Void> closed() {
        return closed;
    }

    AdminCommand connectCommand() {
        return connectCommand;
    }

    HostLane lane() {
        return context.lane();
    }

    boolean isClosed() {
        return queue.isClosed();
    }

    HostException endCause() {
        return queue.endCause();
    }

    long completedCommands() {
        return queue.completedCommands();
    }

    /** Disconnects; what is outstanding completes now, to the handler of the last poll. On the queue's thread. */
    @Override
    public void close() {
        try {
            context.lane().await(disconnect(), this::progress);
        } catch (ExecutionException e) {
            throw new AssertionError("a disconnect does not fail", e);
        }
    }

    /** A request under way; one object again and again. */
    private static final class IoRequest {
        private @Nullable IoRequest next;
        private long tag;
        private int opcode;
        private int nsid;
        private long lba;
        private int blocksLeft;
        private int blockShift;
        private int maxBlocks;
        private @Nullable RegisteredBuffer buffer;
        private long offset;
        private int commands;
        private int status;

        void set(
                int opcode,
                Namespace namespace,
                long lba,
                int blocks,
                @Nullable RegisteredBuffer buffer,
                long offset,
                long tag) {
            this.opcode = opcode;
            this.nsid = namespace.id();
            this.blockShift = namespace.blockShift();
            this.maxBlocks = namespace.maxBlocksPerCommand();
            this.lba = lba;
            this.blocksLeft = blocks;
            this.buffer = buffer;
            this.offset = offset;
            this.tag = tag;
            this.commands = 0;
            this.status = NvmeStatus.SUCCESS;
        }
    }

    /** Keeps time in the lane's cycle; completions are taken in by {@link #poll} or the dispatcher. */
    private final class Ticker implements Agent {
        @Override
        public int doWork(long nowNanos) {
            queue.tick(nowNanos);
            return 0;
        }

        @Override
        public long nextDeadlineNanos() {
            return queue.nextDeadlineNanos();
        }
    }

    private final class Events implements CommandQueue.Listener {
        @Override
        public void onConnected() {
            ControlCommand control = connecting;
            if (control != null) {
                control.start(queue, context.domain(), inCapsuleBytes);
            }
        }

        @Override
        public void onCommandCompleted(int slot, long result, int status) {
            ControlCommand control = connecting;
            if (control == null) {
                onCommandEnded(slot, status);
                return;
            }
            connecting = null;
            control.complete(result, status);
        }

        @Override
        public void onCommandLost(int slot, HostException cause) {
            if (connecting == null) {
                onCommandEnded(slot, NvmeStatus.ABORTED_BY_HOST);
            }
        }

        @Override
        public void onClosed(@Nullable HostException cause) {
            context.lane().lane().remove(ticker);
            ControlCommand control = connecting;
            if (control != null) {
                connecting = null;
                control.lost(queue.endCause());
            }
            for (IoRequest head = pendingHead; head != null; head = pendingHead) {
                removeHead(head);
                head.blocksLeft = 0;
                head.status = NvmeStatus.ABORTED_BY_HOST;
                finish(head);
            }
            assert outstanding == 0 : "a request was lost";
            if (cause != null) {
                onLost.accept(cause);
            }
            beforeClosed.run();
            closed.complete(null);
        }
    }
}

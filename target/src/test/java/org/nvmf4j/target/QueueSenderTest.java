package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.ReadWriteCommand;
import org.nvmf4j.nvme.SglDescriptor;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkOpcode;

/** What is posted, in which order, and what asks for a completion. */
class QueueSenderTest {
    private static final int RECEIVES = 8;
    private static final int RESPONSES = 8;
    private static final int READS = 3;
    private static final int PIECE = 128 << 10;

    private final FakeDomain domain = new FakeDomain();
    private final QueueSizes sizes = new QueueSizes(RECEIVES, RESPONSES, READS, 0);
    private final QueueMemory memory = memory();
    private final BufferPool pool = new BufferPool(domain, 1 << 20, 8 << 20);
    private final List<String> posted = new ArrayList<>();
    private final List<Long> signaled = new ArrayList<>();
    private final Request[] requests = new Request[RECEIVES];
    private final QueueSender sender = sender();

    private QueueMemory memory() {
        try {
            return new QueueMemory(domain, RECEIVES, RESPONSES, 0);
        } catch (VerbsException e) {
            throw new AssertionError(e);
        }
    }

    private QueueSender sender() {
        ReceiveWorkRequest[] receives = new ReceiveWorkRequest[RECEIVES];
        for (int i = 0; i < RECEIVES; i++) {
            receives[i] = new ReceiveWorkRequest(1);
            receives[i].id(WorkId.of(WorkId.RECEIVE, i));
            requests[i] = new Request(new NoOwner(), i, memory.segment(), memory.commandOffset(i), 0);
        }
        return new QueueSender(
                (request, segment, offset) -> {}, this::postSend, this::postReceive, memory, sizes, receives);
    }

    private void postSend(SendWorkRequest first) {
        posted.add("post");
        for (SendWorkRequest work = first; work != null; work = work.next()) {
            posted.add(work.opcode() + " " + WorkId.index(work.id()) + (work.signaled() ? " signaled" : ""));
            if (work.signaled()) {
                signaled.add(work.id());
            }
        }
    }

    private void postReceive(ReceiveWorkRequest first) {
        StringBuilder slots = new StringBuilder("receives");
        for (ReceiveWorkRequest work = first; work != null; work = work.next()) {
            slots.append(' ').append(WorkId.index(work.id()));
        }
        posted.add(slots.toString());
    }

    @AfterEach
    void everyBufferIsBack() {
        sender.drop();
        assertThat(pool.taken()).isZero();
        pool.close();
        memory.close();
    }

    /** A request of the slot with a buffer. */
    private Request request(int slot, int opcode, int bytes) {
        Request request = requests[slot];
        ReadWriteCommand.write(request.capsule(), request.at(), opcode, slot, 1, 0, 1, false);
        SglDescriptor.writeKeyed(
                request.capsule(),
                request.at() + SubmissionQueueEntry.DPTR_OFFSET,
                0x1000L * slot,
                bytes,
                77,
                opcode == IoOpcode.READ);
        request.begin(SubmissionQueueEntry.SIZE_BYTES);
        request.needs(opcode == IoOpcode.READ ? DataDirection.TO_HOST : DataDirection.FROM_HOST, bytes);
        request.buffer(Objects.requireNonNull(pool.take(bytes)));
        return request;
    }

    @Test
    void postsAllWritesBeforeAllResponsesAndReceivesBeforeBoth() {
        sender.respond(request(2, IoOpcode.READ, 4096));
        sender.respond(request(5, IoOpcode.WRITE, 4096));
        sender.respond(request(1, IoOpcode.READ, 512));
        sender.post();
        assertThat(posted)
                .containsExactly(
                        "receives 2 5 1",
                        "post",
                        "RDMA_WRITE 0",
                        "RDMA_WRITE 2",
                        "SEND_WITH_INVALIDATE 0",
                        "SEND 1 signaled",
                        "SEND_WITH_INVALIDATE 2 signaled");
        assertThat(pool.taken())
                .as("kept until complete; that of the write is free")
                .isEqualTo(2);
        sender.responseDone(1);
        assertThat(pool.taken()).isEqualTo(1);
        sender.responseDone(2);
        assertThat(pool.taken()).isZero();
    }

    @Test
    void sendsNoDataOfAFailedRead() {
        Request request = request(0, IoOpcode.READ, 4096);
        request.fail(NvmeStatus.UNRECOVERED_READ_ERROR);
        sender.respond(request);
        sender.post();
        assertThat(posted).containsExactly("receives 0", "post", "SEND_WITH_INVALIDATE 0 signaled");
        assertThat(pool.taken()).isZero();
    }

    @Test
    void waitsWhenAllResponsesAreUnderWay() {
        for (int i = 0; i < RESPONSES; i++) {
            sender.respond(request(i, IoOpcode.READ, 512));
        }
        sender.post();
        sender.respond(request(3, IoOpcode.READ, 512));
        assertThat(sender.canPost()).isFalse();
        posted.clear();
        sender.post();
        assertThat(posted).isEmpty();
        sender.responseDone(1);
        assertThat(sender.canPost()).isTrue();
        sender.post();
        assertThat(posted).containsExactly("receives 3", "post", "RDMA_WRITE 0", "SEND_WITH_INVALIDATE 0 signaled");
        assertThat(signaled).as("one every quarter of the ring").hasSizeGreaterThanOrEqualTo(5);
    }

    @Test
    void readsInPiecesAsManyAsTheHostServes() {
        Request large = request(0, IoOpcode.WRITE, 4 * PIECE + 512);
        Request small = request(1, IoOpcode.WRITE, 4096);
        sender.read(large);
        sender.read(small);
        sender.post();
        assertThat(posted)
                .containsExactly("post", "RDMA_READ 0 signaled", "RDMA_READ 0 signaled", "RDMA_READ 0 signaled");
        assertThat(sender.canPost()).isFalse();
        assertThat(sender.readDone(large)).isFalse();
        assertThat(sender.readDone(large)).isFalse();
        posted.clear();
        sender.post();
        assertThat(posted).containsExactly("post", "RDMA_READ 0 signaled", "RDMA_READ 0 signaled");
        assertThat(sender.readDone(large)).isFalse();
        assertThat(sender.readDone(large)).isFalse();
        posted.clear();
        sender.post();
        assertThat(posted).containsExactly("post", WorkOpcode.RDMA_READ + " 1 signaled");
        assertThat(sender.readDone(large)).isTrue();
        assertThat(sender.readDone(small)).isTrue();
        assertThat(large.readPostedBytes).isEqualTo(4 * PIECE + 512);
        Objects.requireNonNull(large.takeBuffer()).release();
        Objects.requireNonNull(small.takeBuffer()).release();
    }

    private static final class NoOwner implements RequestOwner {
        @Override
        public int qid() {
            return 1;
        }

        @Override
        public void buffered(Request request) {
            throw new AssertionError("not here");
        }

        @Override
        public void resume(Request request) {
            throw new AssertionError("not here");
        }

        @Override
        public void backendCompleted(Request request) {
            throw new AssertionError("not here");
        }
    }
}

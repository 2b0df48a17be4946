package org.nvmf4j.target;

import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.CompletionQueueEntry;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.WorkOpcode;

/**
 * What a queue sends. All that the requests of one duty cycle bring up leaves together: RDMA READs, then all RDMA WRITEs, then all
 * responses, so that packets of one size stand side by side. Only the last response of a batch, and one every quarter of the ring,
 * asks for a completion; a data buffer goes back when a completion says that its RDMA WRITE is done.
 */
final class QueueSender {
    /** Longer RDMA READs slow some peers down. */
    private static final int READ_PIECE_BYTES = 128 << 10;

    /** Writes the completion queue entry of a request that has ended. */
    interface CompletionWriter {
        void writeCompletion(Request request, MemorySegment segment, long offset);
    }

    private final CompletionWriter completions;
    private final Consumer<SendWorkRequest> sendQueue;
    private final Consumer<ReceiveWorkRequest> receiveQueue;
    private final QueueMemory memory;
    private final ReceiveWorkRequest[] receives;
    private final ResponseRing responses;
    private final SendWorkRequest[] reads;
    private final RequestList waitingForRead = new RequestList();
    private final RequestList finished = new RequestList();
    private int readsOutstanding;
    private int sinceSignal;

    /**
     * Sends nothing yet.
     *
     * @param sendQueue posts chains to the queue pair's send queue
     * @param receiveQueue posts chains to its receive queue
     * @param receives of the command slots, which are posted again with their responses
     */
    QueueSender(
            CompletionWriter completions,
            Consumer<SendWorkRequest> sendQueue,
            Consumer<ReceiveWorkRequest> receiveQueue,
            QueueMemory memory,
            QueueSizes sizes,
            ReceiveWorkRequest[] receives) {
        this.completions = completions;
        this.sendQueue = sendQueue;
        this.receiveQueue = receiveQueue;
        this.memory = memory;
        this.receives = receives;
        responses = new ResponseRing(sizes.responses());
        reads = new SendWorkRequest[sizes.reads()];
        for (int i = 0; i < reads.length; i++) {
            reads[i] = new SendWorkRequest(1);
            reads[i].opcode(WorkOpcode.RDMA_READ);
        }
    }

    /** The request's data is to be read from the host. */
    void read(Request request) {
        waitingForRead.add(request);
    }

    /** A READ of the request is done; returns whether all its data is there. */
    boolean readDone(Request request) {
        readsOutstanding--;
        request.readDoneBytes += Math.min(READ_PIECE_BYTES, request.transferBytes() - request.readDoneBytes);
        return request.readDoneBytes == request.transferBytes();
    }

    /** The request has ended: its data, if the host gets any, and its response are to be sent. */
    void respond(Request request) {
        finished.add(request);
    }

    /** The data buffer that the response with that index sends from, if it has one. */
    @Nullable
    DataBuffer buffer(int index) {
        return responses.buffer(index);
    }

    /** The response with that index, and all before it, are complete. */
    void responseDone(int index) {
        responses.retireThrough(index);
    }

    /** Whether a call of {@link #post} would post something. */
    boolean canPost() {
        return (!waitingForRead.isEmpty() && readsOutstanding < reads.length)
                || (!finished.isEmpty() && !responses.isFull());
    }

    /** Posts what can be posted. */
    void post() {
        if (!waitingForRead.isEmpty()) {
            postReads();
        }
        if (!finished.isEmpty() && !responses.isFull()) {
            postResponses();
        }
    }

    /** As many RDMA READs as the host serves at a time; the rest waits. */
    private void postReads() {
        int count = 0;
        while (readsOutstanding < reads.length) {
            Request request = waitingForRead.first();
            if (request == null) {
                break;
            }
            int done = request.readPostedBytes;
            int length = Math.min(READ_PIECE_BYTES, request.transferBytes() - done);
            SendWorkRequest read = reads[count];
            read.id(WorkId.of(WorkId.READ, request.slot()));
            read.clearSges();
            read.addSge(request.memory(), request.memoryAt() + done, length, request.lkey());
            read.remote(request.hostAddress() + done, request.hostKey());
            read.next(null);
            if (count > 0) {
                reads[count - 1].next(read);
            }
            count++;
            readsOutstanding++;
            request.readPostedBytes = done + length;
            if (request.readPostedBytes == request.transferBytes()) {
                waitingForRead.remove(request);
            }
        }
        if (count > 0) {
            sendQueue.accept(reads[0]);
        }
    }

    private void postResponses() {
        SendWorkRequest firstWrite = null;
        SendWorkRequest lastWrite = null;
        SendWorkRequest firstSend = null;
        SendWorkRequest lastSend = null;
        ReceiveWorkRequest firstReceive = null;
        ReceiveWorkRequest lastReceive = null;
        while (!responses.isFull()) {
            Request request = finished.poll();
            if (request == null) {
                break;
            }
            int index = responses.take();
            SendWorkRequest write = fillWrite(request, index);
            if (write != null) {
                if (lastWrite == null) {
                    firstWrite = write;
                } else {
                    lastWrite.next(write);
                }
                lastWrite = write;
            }
            SendWorkRequest send = fillSend(request, index);
            if (lastSend == null) {
                firstSend = send;
            } else {
                lastSend.next(send);
            }
            lastSend = send;
            ReceiveWorkRequest receive = receives[request.slot()];
            receive.next(null);
            if (lastReceive == null) {
                firstReceive = receive;
            } else {
                lastReceive.next(receive);
            }
            lastReceive = receive;
            request.state = RequestState.POSTED;
        }
        if (lastSend == null || firstSend == null || firstReceive == null) {
            return;
        }
        lastSend.signaled(true);
        sinceSignal = 0;
        // The host may use a slot again as soon as it has the response, so the receive must be there before.
        receiveQueue.accept(firstReceive);
        if (lastWrite != null && firstWrite != null) {
            lastWrite.next(firstSend);
            sendQueue.accept(firstWrite);
        } else {
            sendQueue.accept(firstSend);
        }
    }

    /** The RDMA WRITE of the request's data, or null if it sends none. */
    private @Nullable SendWorkRequest fillWrite(Request request, int index) {
        DataBuffer buffer = request.takeBuffer();
        if (request.direction() != DataDirection.TO_HOST || request.failed()) {
            responses.keep(index, null);
            if (buffer != null) {
                buffer.release();
            }
            return null;
        }
        responses.keep(index, buffer);
        SendWorkRequest write = responses.write(index);
        write.id(WorkId.of(WorkId.RESPONSE, index));
        write.clearSges();
        write.addSge(request.memory(), request.memoryAt(), request.transferBytes(), request.lkey());
        write.remote(request.hostAddress(), request.hostKey());
        write.next(null);
        return write;
    }

    private SendWorkRequest fillSend(Request request, int index) {
        long at = memory.responseOffset(index);
        completions.writeCompletion(request, memory.segment(), at);
        SendWorkRequest send = responses.send(index);
        send.id(WorkId.of(WorkId.RESPONSE, index));
        send.clearSges();
        send.addSge(memory.segment(), at, CompletionQueueEntry.SIZE_BYTES, memory.lkey());
        if (request.wantsInvalidate()) {
            send.opcode(WorkOpcode.SEND_WITH_INVALIDATE);
            send.invalidateRkey(request.hostKey());
        } else {
            send.opcode(WorkOpcode.SEND);
        }
        send.next(null);
        sinceSignal++;
        boolean signal = sinceSignal * 4 >= responses.size();
        send.signaled(signal);
        if (signal) {
            sinceSignal = 0;
        }
        return send;
    }

    /** The queue pair is gone: gives back the buffers of responses, and forgets the requests. */
    void drop() {
        responses.retireAll();
        Request request;
        do {
            request = waitingForRead.poll();
        } while (request != null);
        do {
            request = finished.poll();
        } while (request != null);
    }
}

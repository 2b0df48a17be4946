package org.nvmf4j.target;

import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.WorkOpcode;

/**
 * Responses of a queue that were posted and are not known to be complete, in the order of posting: for each the work requests and
 * the data buffer that its RDMA WRITE reads from. When the device says that one is complete, all before it are.
 */
final class ResponseRing {
    private final SendWorkRequest[] writes;
    private final SendWorkRequest[] sends;
    private final @Nullable DataBuffer[] buffers;
    private long taken;
    private long retired;

    /**
     * An empty ring.
     *
     * @param size responses at most
     */
    ResponseRing(int size) {
        writes = new SendWorkRequest[size];
        sends = new SendWorkRequest[size];
        buffers = new DataBuffer[size];
        for (int i = 0; i < size; i++) {
            writes[i] = new SendWorkRequest(1);
            writes[i].opcode(WorkOpcode.RDMA_WRITE);
            writes[i].signaled(false);
            sends[i] = new SendWorkRequest(1);
        }
    }

    int size() {
        return sends.length;
    }

    boolean isFull() {
        return taken - retired == sends.length;
    }

    boolean isEmpty() {
        return taken == retired;
    }

    /** Takes the next entry, which must be there; returns its index. */
    int take() {
        return (int) (taken++ % sends.length);
    }

    SendWorkRequest write(int index) {
        return writes[index];
    }

    SendWorkRequest send(int index) {
        return sends[index];
    }

    /** Keeps a buffer until the response is complete. */
    void keep(int index, @Nullable DataBuffer buffer) {
        buffers[index] = buffer;
    }

    @Nullable
    DataBuffer buffer(int index) {
        return buffers[index];
    }

    /** The response with that index, and all before it, are complete: gives their buffers back. */
    void retireThrough(int index) {
        int at;
        do {
            if (isEmpty()) {
                throw new IllegalStateException("response " + index + " completed without being posted");
            }
            at = (int) (retired++ % sends.length);
            release(at);
        } while (at != index);
    }

    /** Gives every buffer back; the queue pair is gone. */
    void retireAll() {
        while (!isEmpty()) {
            release((int) (retired++ % sends.length));
        }
    }

    private void release(int at) {
        DataBuffer buffer = buffers[at];
        if (buffer != null) {
            buffers[at] = null;
            buffer.release();
        }
    }
}

package org.nvmf4j.roce.rc;

import java.lang.foreign.MemorySegment;
import org.nvmf4j.roce.wire.PacketSink;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;
import org.nvmf4j.verbs.spi.QueuePairChecks;

/**
 * The ring of send work requests, each copied in whole at post. Requests are named by a running number, from {@link #head}
 * (oldest not completed) to {@link #tail} (next to be posted).
 *
 * <p>A message takes its PSNs at post: they are consecutive in post order whatever happens later.
 */
final class SendQueue {
    /** Longest message: at path MTU 256 it takes half of what a 24-bit PSN can tell apart, with room for the window. */
    static final int MAX_MESSAGE_BYTES = 1 << 30;

    private final RcContext context;
    private final int capacity;
    private final int mask;
    private final int inlineBytes;
    private final MemorySegment inlineStorage;
    private final long[] ids;
    private final WorkOpcode[] opcodes;
    private final boolean[] signaled;
    private final boolean[] inline;
    private final int[] lengths;
    private final long[] remoteAddresses;
    private final int[] rkeys;
    private final long[] firstPsns;
    private final int[] packets;
    private final ScatterGather sges;

    private long head;
    private long tail;
    private long nextPsn;

    SendQueue(RcContext context, RcSizes sizes, MemorySegment inlineStorage) {
        this.context = context;
        this.capacity = sizes.maxSendRequests();
        this.inlineBytes = sizes.inlineBytes();
        this.inlineStorage = inlineStorage;
        int slots = slots(capacity);
        mask = slots - 1;
        ids = new long[slots];
        opcodes = new WorkOpcode[slots];
        signaled = new boolean[slots];
        inline = new boolean[slots];
        lengths = new int[slots];
        remoteAddresses = new long[slots];
        rkeys = new int[slots];
        firstPsns = new long[slots];
        packets = new int[slots];
        sges = new ScatterGather(slots, sizes.maxSge());
    }

    /** The power of two that holds so many entries. */
    static int slots(int capacity) {
        return capacity == 1 ? 1 : Integer.highestOneBit(capacity - 1) << 1;
    }

    /** The PSN of the first message. */
    void start(long firstPsn) {
        nextPsn = firstPsn;
    }

    /** Throws unless {@link #take} can take every request of the chain. */
    void check(SendWorkRequest first) {
        QueuePairChecks.sends(first, sges.maxSge(), inlineBytes, capacity - (tail - head));
    }

    /**
     * Takes one request that {@link #check} has seen.
     *
     * @return if not {@link WorkCompletionStatus#SUCCESS}, why it must not be sent: its message is too long, which then takes one PSN, or
     *     memory that was to go inline is gone
     */
    WorkCompletionStatus take(SendWorkRequest request) {
        long length = request.lengthBytes();
        boolean fits = length <= MAX_MESSAGE_BYTES;
        int slot = index(tail);
        ids[slot] = request.id();
        opcodes[slot] = request.opcode();
        signaled[slot] = request.signaled();
        inline[slot] = request.inline();
        lengths[slot] = fits ? (int) length : 0;
        remoteAddresses[slot] = request.remoteAddress();
        rkeys[slot] = request.opcode() == WorkOpcode.SEND_WITH_INVALIDATE ? request.invalidateRkey() : request.rkey();
        firstPsns[slot] = nextPsn;
        packets[slot] = context.packets(lengths[slot]);
        WorkCompletionStatus status = fits ? WorkCompletionStatus.SUCCESS : WorkCompletionStatus.LOCAL_LENGTH_ERROR;
        if (!request.inline()) {
            sges.take(slot, request);
        } else if (!context.memory.copyInline(request, inlineStorage, (long) slot * inlineBytes)) {
            status = WorkCompletionStatus.LOCAL_PROTECTION_ERROR;
        }
        nextPsn += packets[slot];
        tail++;
        return status;
    }

    private int index(long request) {
        return (int) request & mask;
    }

    long head() {
        return head;
    }

    long tail() {
        return tail;
    }

    boolean isEmpty() {
        return head == tail;
    }

    WorkOpcode opcode(long request) {
        return opcodes[index(request)];
    }

    boolean isRead(long request) {
        return opcodes[index(request)] == WorkOpcode.RDMA_READ;
    }

    int lengthBytes(long request) {
        return lengths[index(request)];
    }

    long remoteAddress(long request) {
        return remoteAddresses[index(request)];
    }

    /** The peer's rkey: to use, or to invalidate for SEND with invalidate. */
    int rkey(long request) {
        return rkeys[index(request)];
    }

    long firstPsn(long request) {
        return firstPsns[index(request)];
    }

    int packets(long request) {
        return packets[index(request)];
    }

    /** The PSN behind the request's last one. */
    long endPsn(long request) {
        return firstPsns[index(request)] + packets[index(request)];
    }

    /** Whether the local side may still read these bytes of the message. */
    boolean readable(long request, long offset, int length) {
        int slot = index(request);
        return inline[slot] || sges.allows(context, slot, offset, length, false);
    }

    /** Whether the local side may write the whole of the message, as an RDMA READ does. */
    boolean writable(long request) {
        int slot = index(request);
        return sges.allows(context, slot, 0, lengths[slot], true);
    }

    /** Names bytes of the message to the sink, if {@link #readable} has allowed it just before; see {@link ScatterGather#gather}. */
    boolean gather(long request, long offset, int length, PacketSink sink) {
        int slot = index(request);
        if (inline[slot]) {
            if (length > 0) {
                sink.payload(inlineStorage, (long) slot * inlineBytes + offset, length);
            }
            return true;
        }
        return sges.gather(context, slot, offset, length, sink);
    }

    /** Writes bytes that an RDMA READ brought; see {@link ScatterGather#scatter}. */
    boolean scatter(long request, long offset, MemorySegment source, long sourceOffset, int length) {
        return sges.scatter(context, index(request), offset, source, sourceOffset, length);
    }

    /** Completes the oldest request. */
    void complete(WorkCompletionStatus status) {
        int slot = index(head);
        head++;
        boolean success = status == WorkCompletionStatus.SUCCESS;
        if (signaled[slot] || !success) {
            WorkOpcode opcode = opcodes[slot];
            int length = success && opcode == WorkOpcode.RDMA_READ ? lengths[slot] : 0;
            context.completions.complete(ids[slot], status, opcode, length, 0);
        }
    }

    void flush() {
        while (head != tail) {
            complete(WorkCompletionStatus.WORK_REQUEST_FLUSHED);
        }
    }

    void clear() {
        head = tail;
    }
}

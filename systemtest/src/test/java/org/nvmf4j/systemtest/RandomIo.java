package org.nvmf4j.systemtest;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;
import java.util.function.IntPredicate;
import org.nvmf4j.host.Host;
import org.nvmf4j.host.HostException;
import org.nvmf4j.host.IoHandler;
import org.nvmf4j.host.IoQueue;
import org.nvmf4j.host.Namespace;
import org.nvmf4j.host.RegisteredBuffer;
import org.nvmf4j.nvme.NvmeStatus;

/**
 * Reads and writes a part of a namespace through an I/O queue in an order from a seed, many requests at a time, and compares what is read
 * with what was written before. Each of the requests outstanding has a region of its own.
 */
final class RandomIo implements IoHandler, AutoCloseable {
    private final IoQueue queue;
    private final Namespace namespace;
    private final int[] sizes;
    private final SplittableRandom random;
    private final RegisteredBuffer buffer;
    private final MemorySegment expected;
    private final long firstByte;
    private final int regionBytes;
    private final Request[] slots;
    private long left;
    private long ended;
    private long aborted;
    private long repeated;
    private IntPredicate repeats = status -> false;

    private static final class Request {
        private boolean outstanding;
        private boolean isWrite;
        private int offset;
        private int lengthBytes;
    }

    /**
     * Takes so many bytes of the namespace for itself as the depth times the largest size are; they must be zero.
     *
     * @param firstByte where they begin
     * @param sizes what to choose from, in bytes
     */
    RandomIo(Host host, IoQueue queue, Namespace namespace, long firstByte, int depth, long seed, int... sizes)
            throws IOException {
        this.queue = queue;
        this.namespace = namespace;
        this.sizes = sizes.clone();
        this.firstByte = firstByte;
        random = new SplittableRandom(seed);
        int largest = 0;
        for (int size : sizes) {
            largest = Math.max(largest, size);
        }
        regionBytes = largest;
        buffer = host.allocate((long) depth * regionBytes);
        expected = Arena.ofAuto().allocate((long) depth * regionBytes);
        slots = new Request[depth];
        for (int i = 0; i < depth; i++) {
            slots[i] = new Request();
        }
    }

    /** Submits requests again, as they are, that end with such a status. */
    RandomIo repeating(IntPredicate statuses) {
        repeats = statuses;
        return this;
    }

    /** How often requests were submitted again. */
    long repeated() {
        return repeated;
    }

    /** Executes so many requests and waits for all of them. */
    void run(long requests) throws HostException {
        start(requests);
        while (isBusy()) {
            poll();
        }
        assertThat(aborted).as("requests that the host gave up").isZero();
    }

    /** Submits the first of so many requests; {@link #poll} goes on with them. */
    void start(long requests) {
        left = requests;
        for (int slot = 0; slot < slots.length && left > 0; slot++) {
            if (!slots[slot].outstanding) {
                submit(slot);
            }
        }
    }

    int poll() throws HostException {
        return queue.poll(this);
    }

    /** No more requests than those outstanding. */
    void stop() {
        left = 0;
    }

    boolean isBusy() {
        return left > 0 || outstanding() > 0;
    }

    int outstanding() {
        int count = 0;
        for (Request request : slots) {
            count += request.outstanding ? 1 : 0;
        }
        return count;
    }

    /** Requests that ended, in whatever way. */
    long ended() {
        return ended;
    }

    /** Those of them that the queue's end ended. */
    long aborted() {
        return aborted;
    }

    private void submit(int slot) {
        Request request = slots[slot];
        request.lengthBytes = sizes[random.nextInt(sizes.length)];
        int places = (regionBytes - request.lengthBytes) / namespace.blockBytes() + 1;
        request.offset = random.nextInt(places) * namespace.blockBytes();
        request.isWrite = random.nextBoolean();
        long at = (long) slot * regionBytes + request.offset;
        // Also before a read, so that one which moves nothing does not go unnoticed.
        fill(at, request.lengthBytes);
        if (handOver(slot, request)) {
            left--;
        }
    }

    private boolean handOver(int slot, Request request) {
        int blocks = request.lengthBytes / namespace.blockBytes();
        long at = (long) slot * regionBytes + request.offset;
        long lba = (firstByte + at) / namespace.blockBytes();
        boolean taken;
        if (request.isWrite) {
            taken = queue.submitWrite(namespace, lba, blocks, buffer, at, slot);
        } else {
            taken = queue.submitRead(namespace, lba, blocks, buffer, at, slot);
        }
        if (taken) {
            request.outstanding = true;
        }
        return taken;
    }

    private void fill(long at, int lengthBytes) {
        MemorySegment segment = buffer.segment();
        for (int i = 0; i < lengthBytes; i += Long.BYTES) {
            segment.set(ValueLayout.JAVA_LONG_UNALIGNED, at + i, random.nextLong());
        }
    }

    @Override
    public void onCompletion(long tag, int status) {
        int slot = (int) tag;
        Request request = slots[slot];
        if (!request.outstanding) {
            throw new AssertionError("request " + slot + " ended twice");
        }
        request.outstanding = false;
        ended++;
        if (status == NvmeStatus.ABORTED_BY_HOST) {
            aborted++;
            return;
        }
        if (repeats.test(status)) {
            repeated++;
            if (!handOver(slot, request)) {
                throw new AssertionError("no room for a request that has just ended");
            }
            return;
        }
        if (!NvmeStatus.isSuccess(status)) {
            throw new AssertionError(describe(request) + " of slot " + slot + ": " + NvmeStatus.describe(status));
        }
        check(slot, request);
        if (left > 0) {
            submit(slot);
        }
    }

    private void check(int slot, Request request) {
        long from = (long) slot * regionBytes + request.offset;
        long to = from + request.lengthBytes;
        if (request.isWrite) {
            MemorySegment.copy(buffer.segment(), from, expected, from, request.lengthBytes);
            return;
        }
        long wrong = MemorySegment.mismatch(buffer.segment(), from, to, expected, from, to);
        if (wrong >= 0) {
            throw new AssertionError(describe(request) + " of slot " + slot + ": byte " + wrong
                    + " is not what was written, after " + ended + " requests");
        }
    }

    private static String describe(Request request) {
        return (request.isWrite ? "write" : "read") + " of " + request.lengthBytes + " bytes at " + request.offset;
    }

    @Override
    public void close() {
        buffer.close();
    }
}

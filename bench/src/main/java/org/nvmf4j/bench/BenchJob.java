package org.nvmf4j.bench;

import java.io.IOException;
import java.util.BitSet;
import java.util.SplittableRandom;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.host.Controller;
import org.nvmf4j.host.Host;
import org.nvmf4j.host.HostException;
import org.nvmf4j.host.IoHandler;
import org.nvmf4j.host.IoQueue;
import org.nvmf4j.host.Namespace;
import org.nvmf4j.host.RegisteredBuffer;
import org.nvmf4j.nvme.NvmeStatus;

/** One job: a thread with an I/O queue of its own that keeps {@code iodepth} requests outstanding on its region. */
final class BenchJob implements IoHandler {
    private static final long HIGHEST_LATENCY_NANOS = 60_000_000_000L;
    /** Well beyond what a request takes where nobody is in the way. */
    private static final int POLLS_BEFORE_YIELDING = 100;

    private static final int READ = 0;
    private static final int WRITE = 1;

    private final Workload workload;
    private final Namespace namespace;
    private final IoQueue queue;
    private final RegisteredBuffer buffer;
    private final long regionOffset;
    private final long blocks;
    private final BlockOrder order;
    private final SplittableRandom mix;
    private final BlockStamp stamp;
    private final int[] generations;
    private final BitSet busy = new BitSet();

    private final long[] slotBlock;
    private final long[] slotStart;
    private final int[] slotDirection;
    private final int[] freeSlots;
    private int free;
    private int emptyPolls;

    private final Histogram[] latency = {
        new Histogram(1, HIGHEST_LATENCY_NANOS, 3), new Histogram(1, HIGHEST_LATENCY_NANOS, 3)
    };
    private final long[] ios = new long[2];
    private boolean counting;
    private long measuredNanos;
    private long verified;
    private @Nullable String failure;

    /**
     * Opens the job's queue; on the job's own thread.
     *
     * @param index of the job, from 0; it works on bytes {@code index * regionBytes} and following
     */
    BenchJob(Workload workload, int index, long regionBytes, Host host, Controller controller, Namespace namespace)
            throws IOException {
        this.workload = workload;
        this.namespace = namespace;
        this.regionOffset = index * regionBytes;
        this.blocks = regionBytes / workload.blockBytes();
        long seed = BlockOrder.mix(workload.seed() + index);
        order = new BlockOrder(workload.readWrite().isRandom(), blocks, seed);
        mix = new SplittableRandom(seed);
        queue = controller.openIoQueue();
        if (queue.capacity() < workload.iodepth()) {
            throw new HostException("the target grants queues of " + (queue.capacity() + 1)
                    + " entries: iodepth can be " + queue.capacity() + " at most, not " + workload.iodepth());
        }
        int depth = workload.iodepth();
        buffer = host.allocate((long) depth * workload.blockBytes());
        stamp = new BlockStamp(buffer.segment(), workload.blockBytes(), workload.seed());
        generations = new int[workload.verify() && workload.readWrite().writes() ? Math.toIntExact(blocks) : 0];
        slotBlock = new long[depth];
        slotStart = new long[depth];
        slotDirection = new int[depth];
        freeSlots = new int[depth];
        for (int slot = 0; slot < depth; slot++) {
            freeSlots[free++] = slot;
        }
    }

    /** Runs the workload, and reads back what it wrote if it is to be verified. */
    void run(Stop stop) throws IOException {
        long start = System.nanoTime();
        long measureFrom = start + workload.rampMillis() * 1_000_000;
        long deadline =
                workload.runtimeMillis() == 0 ? Long.MAX_VALUE : measureFrom + workload.runtimeMillis() * 1_000_000;
        long remaining = workload.timeBased() ? Long.MAX_VALUE : blocks;
        counting = workload.rampMillis() == 0;
        long measuredSince = start;
        long now = start;
        while (remaining > 0 && now < deadline && failure == null && !stop.isRequested()) {
            if (!counting && now >= measureFrom) {
                counting = true;
                measuredSince = now;
            }
            while (free > 0 && remaining > 0 && submitNext()) {
                remaining--;
            }
            poll();
            now = System.nanoTime();
        }
        drain();
        measuredNanos = System.nanoTime() - measuredSince;
        counting = false;
        if (generations.length > 0 && failure == null && !stop.isRequested()) {
            readBack(stop);
        }
        if (failure != null) {
            throw new HostException(failure);
        }
    }

    /** Polls, and once nothing has come for a while lets others have the processor, perhaps the target among them. */
    private void poll() throws HostException {
        if (queue.poll(this) > 0) {
            emptyPolls = 0;
        } else if (++emptyPolls > POLLS_BEFORE_YIELDING) {
            Thread.yield();
        }
    }

    private boolean submitNext() {
        int direction = direction();
        long block = order.next();
        // With verify an order of one block's requests would not be known: never two of them at a time.
        for (int tries = 0; generations.length > 0 && busy.get((int) block); tries++) {
            if (tries == workload.iodepth()) {
                return false;
            }
            block = order.next();
        }
        int slot = freeSlots[--free];
        if (workload.verify() && direction == WRITE) {
            stamp.fill(slotOffset(slot), offsetOf(block), generations[(int) block] + 1L);
        }
        return submit(slot, block, direction);
    }

    private int direction() {
        ReadWrite rw = workload.readWrite();
        if (rw.reads() && rw.writes()) {
            return mix.nextInt(100) < workload.rwmixread() ? READ : WRITE;
        }
        return rw.reads() ? READ : WRITE;
    }

    private boolean submit(int slot, long block, int direction) {
        slotBlock[slot] = block;
        slotDirection[slot] = direction;
        if (generations.length > 0) {
            busy.set((int) block);
        }
        int lbas = workload.blockBytes() / namespace.blockBytes();
        long lba = offsetOf(block) / namespace.blockBytes();
        slotStart[slot] = System.nanoTime();
        boolean taken = direction == READ
                ? queue.submitRead(namespace, lba, lbas, buffer, slotOffset(slot), slot)
                : queue.submitWrite(namespace, lba, lbas, buffer, slotOffset(slot), slot);
        if (!taken) {
            release(slot);
        }
        return taken;
    }

    @Override
    public void onCompletion(long tag, int status) {
        int slot = (int) tag;
        int direction = slotDirection[slot];
        if (counting) {
            latency[direction].recordValue(Math.min(System.nanoTime() - slotStart[slot], HIGHEST_LATENCY_NANOS));
            ios[direction]++;
        }
        long block = slotBlock[slot];
        if (status == NvmeStatus.ABORTED_BY_HOST) {
            release(slot); // the queue has ended, and its next poll says why
            return;
        }
        if (status != 0) {
            fail(direction, block, NvmeStatus.describe(status));
        } else if (direction == WRITE && generations.length > 0) {
            generations[(int) block]++;
        } else if (direction == READ && workload.verify()) {
            verify(slot, block);
        }
        release(slot);
    }

    private void verify(int slot, long block) {
        int generation = generations.length > 0 ? generations[(int) block] : -1;
        if (generation == 0) {
            return; // not written yet in this run: nothing is known of it
        }
        String wrong = stamp.check(slotOffset(slot), offsetOf(block), generation);
        verified++;
        if (wrong != null) {
            fail(READ, block, "verify failed: " + wrong);
        }
    }

    private void fail(int direction, long block, String why) {
        if (failure == null) {
            failure = (direction == READ ? "read" : "write") + " of " + workload.blockBytes() + " bytes at offset "
                    + offsetOf(block) + ": " + why;
        }
    }

    private void release(int slot) {
        if (generations.length > 0) {
            busy.clear((int) slotBlock[slot]);
        }
        freeSlots[free++] = slot;
    }

    private void drain() throws HostException {
        while (queue.outstanding() > 0) {
            poll();
        }
    }

    private void readBack(Stop stop) throws HostException {
        for (long block = 0; block < blocks && failure == null && !stop.isRequested(); block++) {
            if (generations[(int) block] == 0) {
                continue;
            }
            while (free == 0 || !submit(freeSlots[--free], block, READ)) {
                poll();
            }
        }
        drain();
    }

    private long slotOffset(int slot) {
        return (long) slot * workload.blockBytes();
    }

    private long offsetOf(long block) {
        return regionOffset + block * workload.blockBytes();
    }

    /** Frees the queue and the memory; on the job's own thread. */
    void close() {
        queue.close();
        buffer.close();
    }

    long verifiedBlocks() {
        return verified;
    }

    DirectionResult reads() {
        return result(READ);
    }

    DirectionResult writes() {
        return result(WRITE);
    }

    private DirectionResult result(int direction) {
        return new DirectionResult(
                ios[direction], ios[direction] * workload.blockBytes(), measuredNanos, latency[direction]);
    }
}

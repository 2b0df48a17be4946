package org.nvmf4j.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.nvmf4j.ibverbs.RdmaCore.Function;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.QueuePairChecks;
import org.nvmf4j.verbs.spi.SharedReceives;

/** A device's shared receive queue. What is posted gets a slot, which its id names until it completes on one of the queue pairs. */
final class IbVerbsSharedReceives extends SharedReceives {
    private final IbVerbsVector vector;
    private final RdmaCore core;
    private final int key;
    private final ReceiveChain chain;
    private final long[] ids;
    /** Slots that nothing has: the first {@link #free} of these. */
    private final int[] freeSlots;

    private int free;
    private long queue;

    IbVerbsSharedReceives(IbVerbsVector vector, RdmaCore core, IbVerbsDomain domain, int key, int capacity, int maxSge)
            throws VerbsException {
        super(vector.device().attributes(), vector, domain, capacity, maxSge);
        this.vector = vector;
        this.core = core;
        this.key = key;
        IbVerbsDevice device = vector.device();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(Abi.IbvSrqInitAttr.SIZE, 8);
            attributes.set(ValueLayout.JAVA_INT, Abi.IbvSrqInitAttr.ATTR__MAX_WR, capacity);
            attributes.set(ValueLayout.JAVA_INT, Abi.IbvSrqInitAttr.ATTR__MAX_SGE, maxSge);
            queue = core.pointer(Function.IBV_CREATE_SRQ, domain.pointer(), attributes.address(), 0, 0, 0);
        }
        try {
            AbiCheck.sharedReceives(queue, device.context(), domain.pointer());
        } catch (VerbsException e) {
            release();
            throw e;
        }
        chain = new ReceiveChain(device, Abi.IbvContext.OPS__POST_SRQ_RECV, queue, maxSge);
        ids = new long[capacity];
        freeSlots = new int[capacity];
        for (int slot = 0; slot < capacity; slot++) {
            freeSlots[slot] = capacity - 1 - slot;
        }
        free = capacity;
    }

    /** The library's pointer. */
    long pointer() {
        return queue;
    }

    /** The upper half of the ids of what is posted here. */
    int key() {
        return key;
    }

    @Override
    protected void post(ReceiveWorkRequest first) {
        QueuePairChecks.receives(first, maxSge(), free);
        ReceiveWorkRequest request = first;
        while (request != null) {
            int count = 0;
            while (request != null && count < ReceiveChain.MAX_CHAIN) {
                int slot = freeSlots[--free];
                ids[slot] = request.id();
                chain.set(count, QueuePairTable.sharedId(key, slot), request);
                count++;
                request = request.next();
            }
            free += count - chain.post(count);
            chain.check();
        }
    }

    /** What was posted in a slot has completed; gives the user's id of it. */
    long complete(int slot) {
        freeSlots[free++] = slot;
        return ids[slot];
    }

    @Override
    protected void release() {
        long closing = queue;
        queue = 0;
        vector.remove(this);
        vector.device().warn(Function.IBV_DESTROY_SRQ, core.status(Function.IBV_DESTROY_SRQ, closing, 0, 0, 0));
    }
}

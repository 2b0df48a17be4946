package org.nvmf4j.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.nvmf4j.linux.SystemErrors;
import org.nvmf4j.verbs.ReceiveWorkRequest;

/**
 * The chain of {@code ibv_recv_wr} that a receive queue posts: made once with its lists and links, patched for each post. The library copies
 * it while it posts.
 */
final class ReceiveChain {
    /** Longer chains take several calls. */
    static final int MAX_CHAIN = SendChain.MAX_CHAIN;

    private final IbVerbsDevice device;
    private final MemorySegment function;
    private final long queue;
    private final MemorySegment receives;
    private final SgeLists lists;
    private final MemorySegment bad;
    /** Why the latest post did not take all, or 0. */
    private int errno;

    /**
     * A chain for one queue.
     *
     * @param function where {@code struct ibv_context} has the function that posts
     * @param queue what that posts on
     */
    ReceiveChain(IbVerbsDevice device, int function, long queue, int maxSge) {
        this.device = device;
        this.function = RdmaCore.functionAt(device.context() + function);
        this.queue = queue;
        Arena arena = Arena.ofAuto();
        receives = arena.allocate((long) MAX_CHAIN * Abi.IbvRecvWr.SIZE, 8);
        bad = arena.allocate(8, 8);
        lists = new SgeLists(MAX_CHAIN, maxSge);
        for (int i = 0; i < MAX_CHAIN; i++) {
            receives.set(ValueLayout.JAVA_LONG, at(i) + Abi.IbvRecvWr.SG_LIST, lists.address(i));
            link(i);
        }
    }

    private static long at(int index) {
        return (long) index * Abi.IbvRecvWr.SIZE;
    }

    private void link(int index) {
        receives.set(ValueLayout.JAVA_LONG, at(index) + Abi.IbvRecvWr.NEXT, receives.address() + at(index + 1));
    }

    void set(int index, long id, ReceiveWorkRequest request) {
        receives.set(ValueLayout.JAVA_LONG, at(index) + Abi.IbvRecvWr.WR_ID, id);
        receives.set(ValueLayout.JAVA_INT, at(index) + Abi.IbvRecvWr.NUM_SGE, lists.set(index, request));
    }

    /**
     * Posts the first ones; gives how many were taken, and {@link #check} throws if those are not all. What is posted on a device that is
     * gone counts as taken.
     */
    int post(int count) {
        receives.set(ValueLayout.JAVA_LONG, at(count - 1) + Abi.IbvRecvWr.NEXT, 0);
        errno = Math.abs(RdmaCore.fast(function, queue, receives.address(), bad.address()));
        link(count - 1);
        if (errno == 0 || device.isGone(errno)) {
            errno = 0;
            return count;
        }
        return Math.clamp((bad.get(ValueLayout.JAVA_LONG, 0) - receives.address()) / Abi.IbvRecvWr.SIZE, 0, count);
    }

    void check() {
        if (errno != 0) {
            throw new IllegalStateException("cannot post receives: " + SystemErrors.describe(errno));
        }
    }
}

package org.nvmf4j.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.linux.SystemErrors;
import org.nvmf4j.verbs.OnDemandMemory;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkOpcode;

/**
 * The chain of {@code ibv_send_wr} that a queue pair posts: made once with its lists and links, patched for each post. The library copies it
 * while it posts.
 */
final class SendChain {
    /** Longer chains take several calls. */
    static final int MAX_CHAIN = 32;

    private static final int SEND_SIGNALED = 1 << 1;
    private static final int SEND_INLINE = 1 << 3;

    private final MemorySegment function;
    private final long queuePair;
    private final int key;
    private final MemorySegment sends;
    private final SgeLists lists;
    private final MemorySegment bad;
    private final IbVerbsDomain domain;
    private final int inlineBytes;
    /** Where inline data that may vanish is copied to before the library copies it; made when it is needed. */
    private @Nullable MemorySegment safe;

    /** Why the latest post did not take all, or 0. */
    private int errno;

    SendChain(long context, long queuePair, int key, int maxSge, IbVerbsDomain domain, int inlineBytes) {
        this.domain = domain;
        this.inlineBytes = inlineBytes;
        function = RdmaCore.functionAt(context + Abi.IbvContext.OPS__POST_SEND);
        this.queuePair = queuePair;
        this.key = key;
        Arena arena = Arena.ofAuto();
        sends = arena.allocate((long) MAX_CHAIN * Abi.IbvSendWr.SIZE, 8);
        bad = arena.allocate(8, 8);
        lists = new SgeLists(MAX_CHAIN, maxSge);
        for (int i = 0; i < MAX_CHAIN; i++) {
            sends.set(ValueLayout.JAVA_LONG, at(i) + Abi.IbvSendWr.SG_LIST, lists.address(i));
            link(i);
        }
    }

    private static long at(int index) {
        return (long) index * Abi.IbvSendWr.SIZE;
    }

    private void link(int index) {
        sends.set(ValueLayout.JAVA_LONG, at(index) + Abi.IbvSendWr.NEXT, sends.address() + at(index + 1));
    }

    /** Fills one in; false if it was to go inline, and its memory is gone. */
    boolean set(int index, int position, SendWorkRequest request) {
        long at = at(index);
        int flags = (request.signaled() ? SEND_SIGNALED : 0) | (request.inline() ? SEND_INLINE : 0);
        int sgeCount = 1;
        if (!request.inline() || !domain.mayVanish(request)) {
            sgeCount = lists.set(index, request);
        } else if (!setSafeCopy(index, request)) {
            return false;
        }
        sends.set(ValueLayout.JAVA_LONG, at + Abi.IbvSendWr.WR_ID, QueuePairTable.sendId(key, position));
        sends.set(ValueLayout.JAVA_INT, at + Abi.IbvSendWr.NUM_SGE, sgeCount);
        sends.set(ValueLayout.JAVA_INT, at + Abi.IbvSendWr.OPCODE, code(request.opcode()));
        sends.set(ValueLayout.JAVA_INT, at + Abi.IbvSendWr.SEND_FLAGS, flags);
        sends.set(ValueLayout.JAVA_INT, at + Abi.IbvSendWr.INVALIDATE_RKEY, request.invalidateRkey());
        sends.set(ValueLayout.JAVA_LONG, at + Abi.IbvSendWr.WR__RDMA__REMOTE_ADDR, request.remoteAddress());
        sends.set(ValueLayout.JAVA_INT, at + Abi.IbvSendWr.WR__RDMA__RKEY, request.rkey());
        return true;
    }

    /** Memory that vanishes while the library copies it would end the process. */
    private boolean setSafeCopy(int index, SendWorkRequest request) {
        MemorySegment copies = safe;
        if (copies == null) {
            copies = Arena.ofAuto().allocate((long) MAX_CHAIN * inlineBytes);
            safe = copies;
        }
        long start = (long) index * inlineBytes;
        long end = start;
        for (int i = 0; i < request.sgeCount(); i++) {
            int length = request.sgeLength(i);
            if (!OnDemandMemory.copy(request.sgeSegment(i), request.sgeOffset(i), copies, end, length)) {
                return false;
            }
            end += length;
        }
        lists.setOne(index, copies.address() + start, (int) (end - start), 0);
        return true;
    }

    /** {@code enum ibv_wr_opcode}. */
    private static int code(WorkOpcode opcode) {
        return switch (opcode) {
            case RDMA_WRITE -> 0;
            case SEND -> 2;
            case RDMA_READ -> 4;
            case SEND_WITH_INVALIDATE -> 9;
            case RECEIVE -> throw new IllegalArgumentException("RECEIVE is not an opcode of the send queue");
        };
    }

    /**
     * Posts the first of the sends; gives how many were taken. Where those are not all, {@link #isRefused} tells whether the device had no
     * room for more, and {@link #check} throws what else it said.
     */
    int post(int count) {
        sends.set(ValueLayout.JAVA_LONG, at(count - 1) + Abi.IbvSendWr.NEXT, 0);
        errno = Math.abs(RdmaCore.fast(function, queuePair, sends.address(), bad.address()));
        link(count - 1);
        if (errno == 0 || domain.device().isGone(errno)) {
            errno = 0;
            return count;
        }
        return Math.clamp((bad.get(ValueLayout.JAVA_LONG, 0) - sends.address()) / Abi.IbvSendWr.SIZE, 0, count);
    }

    boolean isRefused() {
        return errno == VerbsException.ENOMEM;
    }

    void check() {
        if (errno != 0 && !isRefused()) {
            throw new IllegalStateException("ibv_post_send: " + SystemErrors.describe(errno));
        }
    }
}

package org.nvmf4j.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.linux.SystemErrors;
import org.nvmf4j.verbs.OnDemandMemory;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkOpcode;
import org.nvmf4j.verbs.WorkRequest;

/**
 * The chains of {@code ibv_send_wr} and {@code ibv_recv_wr} that a queue pair posts: made once with their lists and links, patched for each
 * post. The library copies them while it posts.
 */
final class WorkRequestMemory {
    /** Longer chains take several calls. */
    static final int MAX_CHAIN = 32;

    private static final int SEND_SIGNALED = 1 << 1;
    private static final int SEND_INLINE = 1 << 3;

    private final MemorySegment sendFunction;
    private final MemorySegment receiveFunction;
    private final long queuePair;
    private final int key;
    private final MemorySegment sends;
    private final MemorySegment receives;
    private final MemorySegment sges;
    private final MemorySegment bad;
    private final long sgesPerRequest;
    private final IbVerbsDomain domain;
    private final int inlineBytes;
    /** Where inline data that may vanish is copied to before the library copies it; made when it is needed. */
    private @Nullable MemorySegment safe;

    private boolean refused;

    WorkRequestMemory(long context, long queuePair, int key, int maxSge, IbVerbsDomain domain, int inlineBytes) {
        this.domain = domain;
        this.inlineBytes = inlineBytes;
        sendFunction = RdmaCore.functionAt(context + Abi.IbvContext.OPS__POST_SEND);
        receiveFunction = RdmaCore.functionAt(context + Abi.IbvContext.OPS__POST_RECV);
        this.queuePair = queuePair;
        this.key = key;
        Arena arena = Arena.ofAuto();
        sends = arena.allocate((long) MAX_CHAIN * Abi.IbvSendWr.SIZE, 8);
        receives = arena.allocate((long) MAX_CHAIN * Abi.IbvRecvWr.SIZE, 8);
        sgesPerRequest = (long) maxSge * Abi.IbvSge.SIZE;
        sges = arena.allocate(MAX_CHAIN * sgesPerRequest, 8);
        bad = arena.allocate(8, 8);
        for (int i = 0; i < MAX_CHAIN; i++) {
            long list = sges.address() + i * sgesPerRequest;
            sends.set(ValueLayout.JAVA_LONG, sendAt(i) + Abi.IbvSendWr.SG_LIST, list);
            receives.set(ValueLayout.JAVA_LONG, receiveAt(i) + Abi.IbvRecvWr.SG_LIST, list);
            linkSend(i);
            linkReceive(i);
        }
    }

    private static long sendAt(int index) {
        return (long) index * Abi.IbvSendWr.SIZE;
    }

    private static long receiveAt(int index) {
        return (long) index * Abi.IbvRecvWr.SIZE;
    }

    private void linkSend(int index) {
        sends.set(ValueLayout.JAVA_LONG, sendAt(index) + Abi.IbvSendWr.NEXT, sends.address() + sendAt(index + 1));
    }

    private void linkReceive(int index) {
        receives.set(
                ValueLayout.JAVA_LONG,
                receiveAt(index) + Abi.IbvRecvWr.NEXT,
                receives.address() + receiveAt(index + 1));
    }

    /** Fills one in; false if it was to go inline, and its memory is gone. */
    boolean setSend(int index, int position, SendWorkRequest request) {
        long at = sendAt(index);
        int flags = (request.signaled() ? SEND_SIGNALED : 0) | (request.inline() ? SEND_INLINE : 0);
        int sgeCount = 1;
        if (!request.inline() || !domain.mayVanish(request)) {
            sgeCount = setSges(index, request);
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
        setSge(index * sgesPerRequest, copies.address() + start, (int) (end - start), 0);
        return true;
    }

    void setReceive(int index, ReceiveWorkRequest request) {
        long at = receiveAt(index);
        receives.set(ValueLayout.JAVA_LONG, at + Abi.IbvRecvWr.WR_ID, QueuePairTable.receiveId(key));
        receives.set(ValueLayout.JAVA_INT, at + Abi.IbvRecvWr.NUM_SGE, setSges(index, request));
    }

    /** Without those of length 0, which to some devices mean 2 GiB. */
    private int setSges(int index, WorkRequest request) {
        long at = index * sgesPerRequest;
        int count = 0;
        for (int i = 0; i < request.sgeCount(); i++) {
            int length = request.sgeLength(i);
            if (length != 0) {
                long address = request.sgeSegment(i).address() + request.sgeOffset(i);
                setSge(at, address, length, request.sgeLkey(i));
                at += Abi.IbvSge.SIZE;
                count++;
            }
        }
        return count;
    }

    private void setSge(long at, long address, int length, int lkey) {
        sges.set(ValueLayout.JAVA_LONG, at + Abi.IbvSge.ADDR, address);
        sges.set(ValueLayout.JAVA_INT, at + Abi.IbvSge.LENGTH, length);
        sges.set(ValueLayout.JAVA_INT, at + Abi.IbvSge.LKEY, lkey);
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

    /** Posts the first of the sends; gives how many were taken, and {@link #isRefused} tells whether the device had no room for more. */
    int postSends(int count) {
        sends.set(ValueLayout.JAVA_LONG, sendAt(count - 1) + Abi.IbvSendWr.NEXT, 0);
        int result = Math.abs(RdmaCore.fast(sendFunction, queuePair, sends.address(), bad.address()));
        linkSend(count - 1);
        refused = result == VerbsException.ENOMEM;
        if (result == 0 || isGone(result)) {
            return count;
        }
        int taken = (int) ((bad.get(ValueLayout.JAVA_LONG, 0) - sends.address()) / Abi.IbvSendWr.SIZE);
        if (!refused) {
            throw new IllegalStateException("ibv_post_send: " + SystemErrors.describe(result));
        }
        return Math.clamp(taken, 0, count);
    }

    /** What a driver says when its device is gone. What is posted then counts as taken, and is flushed with all the rest. */
    private boolean isGone(int errno) {
        if (errno == SystemErrors.EIO) {
            domain.device().onRemoved();
            return true;
        }
        return false;
    }

    boolean isRefused() {
        return refused;
    }

    void postReceives(int count) {
        receives.set(ValueLayout.JAVA_LONG, receiveAt(count - 1) + Abi.IbvRecvWr.NEXT, 0);
        int result = Math.abs(RdmaCore.fast(receiveFunction, queuePair, receives.address(), bad.address()));
        linkReceive(count - 1);
        if (result != 0 && !isGone(result)) {
            throw new IllegalStateException("ibv_post_recv: " + SystemErrors.describe(result));
        }
    }
}

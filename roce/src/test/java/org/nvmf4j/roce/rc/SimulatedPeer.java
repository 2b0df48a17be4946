package org.nvmf4j.roce.rc;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumSet;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.testkit.GuardedMemory;
import org.nvmf4j.testkit.WorkLedger;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;
import org.nvmf4j.verbs.WorkRequest;

/**
 * A user of one end of a connection that posts random work, and checks every completion and every byte. Buffers are
 * scribbled over as soon as they are free again, so that a late read or write shows.
 */
final class SimulatedPeer {
    static final int SLOTS = 16;
    private static final int MAX_SGE = 4;
    private static final int GAPS = 64;
    private static final int INLINE = 96;

    final String name;
    final RcEnd end;
    final WorkLedger sends;
    final WorkLedger receives;
    private final SplittableRandom random;
    private final int mtu;
    private final int maxMessage;
    private final int slotBytes;
    private final int maxSends;
    private final int maxReceives;
    private final int inlineBytes;

    private final GuardedMemory sources;
    private final GuardedMemory targets;
    private final GuardedMemory inbox;
    private final GuardedMemory exposed;
    private final GuardedMemory readable;
    private final MemoryRegion sourceRegion;
    private final MemoryRegion targetRegion;
    private final MemoryRegion inboxRegion;
    private final MemoryRegion exposedRegion;
    private final MemoryRegion readableRegion;
    private final List<MemoryRegion> invalidatable = new ArrayList<>();
    private final Deque<MemoryRegion> invalidationsUnderWay = new ArrayDeque<>();
    /** What {@link #exposed} holds when all WRITEs have been done. */
    private final byte[] exposedModel;

    private final byte[] readableModel;

    private final Deque<Operation> operations = new ArrayDeque<>();
    private final Deque<Operation> postedReceives = new ArrayDeque<>();
    private final boolean[] slotUsed = new boolean[SLOTS];
    private final boolean[] inboxUsed = new boolean[SLOTS];
    private final Deque<byte[]> expectedMessages = new ArrayDeque<>();
    private final Deque<Integer> expectedInvalidations = new ArrayDeque<>();
    private final List<byte[]> snapshots = new ArrayList<>();
    private SimulatedPeer peer = this;
    private long nextId = 1;
    int operationsLeft;
    int receivesLeft;
    boolean expectsErrors;
    /** The first completion that is no success. */
    RcEnd.@Nullable Completion firstError;
    /** The id of the request that {@link #sabotage} spoiled, and how many more are posted before it. */
    long spoiledId;

    private int spoilIn = -1;

    /** A posted request: where its pieces lie, and what they hold or must come to hold. */
    @SuppressWarnings("ArrayRecordComponent")
    private record Operation(
            long id, WorkOpcode opcode, boolean inline, int slot, List<int[]> pieces, byte[] expected) {}

    SimulatedPeer(
            String name, int number, RcTuning tuning, SplittableRandom random, Arena arena, int mtu, int maxMessage) {
        this.name = name;
        this.random = random;
        this.mtu = mtu;
        this.maxMessage = maxMessage;
        slotBytes = maxMessage + GAPS;
        int sendRequests = 1 + random.nextInt(SLOTS);
        int receiveRequests = 1 + random.nextInt(SLOTS);
        RcSizes sizes = new RcSizes(sendRequests, receiveRequests, MAX_SGE, random.nextInt(3) * INLINE / 2);
        end = new RcEnd(number, sizes, tuning, random.split(), arena, 64);
        this.maxSends = sendRequests;
        this.maxReceives = receiveRequests;
        this.inlineBytes = sizes.inlineBytes();
        sends = new WorkLedger(name + " sends");
        receives = new WorkLedger(name + " receives");
        sources = new GuardedMemory(arena, (long) SLOTS * slotBytes);
        targets = new GuardedMemory(arena, (long) SLOTS * slotBytes);
        inbox = new GuardedMemory(arena, (long) SLOTS * slotBytes);
        exposed = new GuardedMemory(arena, (long) SLOTS * slotBytes);
        readable = new GuardedMemory(arena, slotBytes);
        sourceRegion = end.register(sources.segment(), EnumSet.noneOf(AccessFlag.class));
        targetRegion = end.register(targets.segment(), EnumSet.of(AccessFlag.LOCAL_WRITE));
        inboxRegion = end.register(inbox.segment(), EnumSet.of(AccessFlag.LOCAL_WRITE));
        exposedRegion = end.register(exposed.segment(), EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE));
        readableRegion = end.register(readable.segment(), EnumSet.of(AccessFlag.REMOTE_READ));
        exposedModel = new byte[SLOTS * slotBytes];
        readableModel = new byte[slotBytes];
        random.nextBytes(readableModel);
        MemorySegment.copy(MemorySegment.ofArray(readableModel), 0, readable.segment(), 0, slotBytes);
        for (int i = 0; i < 4; i++) {
            invalidatable.add(end.region(8));
        }
        for (int i = 0; i < SLOTS; i++) {
            snapshots.add(new byte[slotBytes]);
        }
    }

    void meet(SimulatedPeer peer) {
        this.peer = peer;
    }

    /** Posts some of the work that is left, if there is room. */
    void work() {
        while (operationsLeft > 0 && operations.size() < maxSends && random.nextInt(4) != 0) {
            int chain = 1 + random.nextInt(Math.min(3, maxSends - operations.size()));
            postChain(Math.min(chain, operationsLeft));
        }
    }

    /** Posts some of the receives that the peer's messages will need, if there is room. */
    void receive() {
        while (receivesLeft > 0 && postedReceives.size() < maxReceives && random.nextInt(3) != 0) {
            int slot = freeSlot(inboxUsed);
            ReceiveWorkRequest request = new ReceiveWorkRequest(MAX_SGE);
            request.id(nextId++);
            List<int[]> pieces = pieces(request, inboxRegion, slot, maxMessage);
            inboxUsed[slot] = true;
            receivesLeft--;
            receives.posted(request.id(), true);
            postedReceives.add(new Operation(request.id(), WorkOpcode.RECEIVE, false, slot, pieces, new byte[0]));
            end.queuePair.postReceive(request);
            request.clearSges();
        }
    }

    private void postChain(int length) {
        SendWorkRequest first = operation();
        SendWorkRequest last = first;
        for (int i = 1; i < length; i++) {
            SendWorkRequest next = operation();
            last.next(next);
            last = next;
        }
        operationsLeft -= length;
        end.queuePair.postSend(first);
        for (SendWorkRequest request = first; request != null; request = request.next()) {
            request.clearSges(); // the object is free
            request.remote(0, 0);
        }
        for (Operation operation : operations) {
            if (operation.inline) {
                scribble(sources, operation.slot); // the buffer is free, too
            }
        }
    }

    private SendWorkRequest operation() {
        SendWorkRequest request = new SendWorkRequest(MAX_SGE);
        request.id(nextId++);
        request.signaled(random.nextInt(3) != 0 || operationsLeft <= 3 || operations.size() + 1 == maxSends);
        request.opcode(
                switch (random.nextInt(5)) {
                    case 0, 1 -> WorkOpcode.SEND;
                    case 2 -> WorkOpcode.RDMA_WRITE;
                    case 3 -> WorkOpcode.RDMA_READ;
                    default -> peer.invalidatable.isEmpty() ? WorkOpcode.SEND : WorkOpcode.SEND_WITH_INVALIDATE;
                });
        int slot = freeSlot(slotUsed);
        slotUsed[slot] = true;
        if (request.opcode() == WorkOpcode.RDMA_READ) {
            read(request, slot);
        } else {
            outgoing(request, slot);
        }
        sends.posted(request.id(), request.signaled());
        if (--spoilIn == 0) {
            spoil(request, slot);
        }
        return request;
    }

    /** Has one of the next requests break a rule. */
    void sabotage() {
        spoilIn = 1 + random.nextInt(Math.max(1, operationsLeft));
    }

    /** Makes a request one that must fail, and take the connection with it. */
    private void spoil(SendWorkRequest request, int slot) {
        spoiledId = request.id();
        Operation whole = operations.removeLast();
        operations.add(new Operation(whole.id, request.opcode(), false, slot, whole.pieces, whole.expected));
        long inside = slot * (long) slotBytes;
        switch (random.nextInt(7)) {
            case 0 -> remote(request, WorkOpcode.RDMA_WRITE, inside, inside, peer.exposedRegion.rkey() ^ 1);
            case 1 -> remote(request, WorkOpcode.RDMA_READ, inside, inside, peer.exposedRegion.rkey());
            case 2 -> remote(request, WorkOpcode.RDMA_WRITE, inside, -1, peer.exposedRegion.rkey());
            case 3 ->
                remote(request, WorkOpcode.RDMA_WRITE, inside, SLOTS * (long) slotBytes, peer.exposedRegion.rkey());
            case 4 -> remote(request, WorkOpcode.RDMA_WRITE, inside, inside, peer.sourceRegion.lkey());
            case 5 -> {
                request.setSge(sourceRegion, inside, slotBytes); // the peer's receives are shorter
                request.opcode(WorkOpcode.SEND);
                peer.receivesLeft++;
                InlineMark.set(request, false);
            }
            default -> {
                remote(request, WorkOpcode.RDMA_WRITE, inside, inside, peer.exposedRegion.rkey());
                request.clearSges();
                request.addSge(sources.segment(), inside, slotBytes + 1, sourceRegion.lkey() ^ 1);
            }
        }
    }

    private void remote(SendWorkRequest request, WorkOpcode opcode, long from, long offset, int rkey) {
        request.opcode(opcode);
        request.remote(peer.exposedRegion.address() + offset, rkey);
        request.clearSges();
        MemoryRegion local = opcode == WorkOpcode.RDMA_READ ? targetRegion : sourceRegion;
        request.addSge(local.segment(), from, 1 + random.nextInt(maxMessage), local.lkey());
        InlineMark.set(request, false);
    }

    private void read(SendWorkRequest request, int slot) {
        int length = length();
        int from = random.nextInt(maxMessage - length + 1);
        byte[] expected = new byte[length];
        System.arraycopy(peer.readableModel, from, expected, 0, length);
        request.remote(peer.readableRegion.address() + from, length == 0 ? 0 : peer.readableRegion.rkey());
        checkSnapshot(slot);
        List<int[]> pieces = pieces(request, targetRegion, slot, length);
        operations.add(new Operation(request.id(), WorkOpcode.RDMA_READ, false, slot, pieces, expected));
    }

    private void outgoing(SendWorkRequest request, int slot) {
        int length = length();
        byte[] data = new byte[length];
        random.nextBytes(data);
        List<int[]> pieces = pieces(request, sourceRegion, slot, length);
        int done = 0;
        for (int[] piece : pieces) {
            MemorySegment.copy(MemorySegment.ofArray(data), done, sources.segment(), piece[0], piece[1]);
            done += piece[1];
        }
        boolean inline = length <= inlineBytes;
        InlineMark.set(request, inline);
        switch (request.opcode()) {
            case RDMA_WRITE -> {
                int at = slot * slotBytes + random.nextInt(GAPS);
                request.remote(peer.exposedRegion.address() + at, length == 0 ? 0 : peer.exposedRegion.rkey());
                System.arraycopy(data, 0, peer.exposedModel, at, length);
            }
            case SEND_WITH_INVALIDATE -> {
                MemoryRegion region = peer.invalidatable.removeFirst();
                request.invalidateRkey(region.rkey());
                peer.expectedMessages.add(data);
                peer.expectedInvalidations.add(region.rkey());
                peer.invalidationsUnderWay.add(region);
            }
            default -> {
                peer.expectedMessages.add(data);
                peer.expectedInvalidations.add(0);
            }
        }
        if (request.opcode() != WorkOpcode.RDMA_WRITE) {
            peer.receivesLeft++;
        }
        operations.add(new Operation(request.id(), request.opcode(), inline, slot, pieces, data));
    }

    private int length() {
        int length = switch (random.nextInt(6)) {
            case 0 -> random.nextInt(9);
            case 1 -> mtu * random.nextInt(4);
            case 2 -> Math.max(0, mtu * random.nextInt(4) + random.nextInt(5) - 2);
            default -> random.nextInt(maxMessage + 1);
        };
        return Math.min(length, maxMessage);
    }

    private int freeSlot(boolean[] used) {
        int slot = random.nextInt(SLOTS);
        while (used[slot]) {
            slot = (slot + 1) % SLOTS;
        }
        return slot;
    }

    /** Spreads a message over pieces of a slot with gaps between them; {@code {offset, length}} each. */
    private List<int[]> pieces(WorkRequest request, MemoryRegion region, int slot, int length) {
        List<int[]> pieces = new ArrayList<>();
        int count = length == 0 ? random.nextInt(2) : 1 + random.nextInt(MAX_SGE);
        int at = slot * slotBytes;
        int left = length;
        for (int i = 0; i < count; i++) {
            at += random.nextInt(GAPS / MAX_SGE);
            int piece = i == count - 1 ? left : random.nextInt(left + 1);
            request.addSge(region.segment(), at, piece, region.lkey());
            pieces.add(new int[] {at, piece});
            at += piece;
            left -= piece;
        }
        return pieces;
    }

    private void scribble(GuardedMemory memory, int slot) {
        memory.segment().asSlice((long) slot * slotBytes, slotBytes).fill((byte) random.nextInt(256));
    }

    /** A READ's buffer must not change once the READ has completed. */
    private void checkSnapshot(int slot) {
        assertThat(slotBytes(targets, slot)).as("%s READ buffer %s", name, slot).isEqualTo(snapshots.get(slot));
    }

    private byte[] slotBytes(GuardedMemory memory, int slot) {
        byte[] bytes = new byte[slotBytes];
        MemorySegment.copy(memory.segment(), (long) slot * slotBytes, MemorySegment.ofArray(bytes), 0, slotBytes);
        return bytes;
    }

    private static byte[] gather(GuardedMemory memory, List<int[]> pieces, int length) {
        byte[] bytes = new byte[length];
        int done = 0;
        for (int[] piece : pieces) {
            int count = Math.min(piece[1], length - done);
            MemorySegment.copy(memory.segment(), piece[0], MemorySegment.ofArray(bytes), done, count);
            done += count;
        }
        return bytes;
    }

    /** Checks the completions that came since the last call. */
    void complete() {
        for (RcEnd.Completion completion : end.takeCompletions()) {
            boolean success = completion.status() == WorkCompletionStatus.SUCCESS;
            if (!success) {
                assertThat(expectsErrors).as("%s: %s", name, completion).isTrue();
                if (firstError == null) {
                    firstError = completion;
                }
            }
            if (completion.opcode() == WorkOpcode.RECEIVE) {
                receives.completed(completion.id(), success);
                received(postedReceives.remove(), completion, success);
            } else {
                sends.completed(completion.id(), success);
                sent(completion, success);
            }
        }
    }

    private void received(Operation operation, RcEnd.Completion completion, boolean success) {
        assertThat(operation.id).isEqualTo(completion.id());
        inboxUsed[operation.slot] = false;
        if (success) {
            byte[] expected = expectedMessages.remove();
            int rkey = expectedInvalidations.remove();
            assertThat(completion.length()).as("%s message length", name).isEqualTo(expected.length);
            assertThat(gather(inbox, operation.pieces, expected.length)).isEqualTo(expected);
            assertThat(completion.invalidatedRkey()).isEqualTo(rkey);
            if (rkey != 0) {
                MemoryRegion region = invalidationsUnderWay.remove();
                assertThat(region.rkey()).isZero();
                region.renewRkey();
                invalidatable.add(region);
            }
        }
        scribble(inbox, operation.slot);
    }

    private void sent(RcEnd.Completion completion, boolean success) {
        while (true) {
            Operation operation = operations.remove();
            slotUsed[operation.slot] = false;
            boolean last = operation.id == completion.id();
            if (operation.opcode == WorkOpcode.RDMA_READ) {
                if (success || !last) {
                    assertThat(gather(targets, operation.pieces, operation.expected.length))
                            .as("%s READ data", name)
                            .isEqualTo(operation.expected);
                }
                snapshots.set(operation.slot, slotBytes(targets, operation.slot));
            } else {
                if (operation.opcode == WorkOpcode.RDMA_WRITE && success && spoiledId == 0) {
                    peer.checkWritten(operation.slot);
                }
                scribble(sources, operation.slot);
            }
            if (last) {
                int length = operation.opcode == WorkOpcode.RDMA_READ && success ? operation.expected.length : 0;
                assertThat(completion.length()).isEqualTo(length);
                return;
            }
        }
    }

    /** The peer's WRITE to this slot has completed: the whole slot is as it should be. */
    private void checkWritten(int slot) {
        byte[] expected = new byte[slotBytes];
        System.arraycopy(exposedModel, slot * slotBytes, expected, 0, slotBytes);
        assertThat(slotBytes(exposed, slot)).as("%s slot %s", name, slot).isEqualTo(expected);
    }

    void checkGuards() {
        sources.check();
        targets.check();
        inbox.check();
        exposed.check();
        readable.check();
    }

    /** After the connection broke: everything completed, and nothing has changed since. */
    void checkAftermath() {
        sends.checkDrained(); // silent successes may remain at the end
        receives.checkDrained();
        for (int slot = 0; slot < SLOTS; slot++) {
            checkSnapshot(slot);
        }
        checkGuards();
    }

    /** Whether there is something to post, and room for it. */
    boolean wantsWork() {
        return (operationsLeft > 0 && operations.size() < maxSends)
                || (receivesLeft > 0 && postedReceives.size() < maxReceives);
    }

    boolean idle() {
        return operationsLeft == 0 && operations.isEmpty() && receivesLeft == 0 && expectedMessages.isEmpty();
    }

    /** After everything completed successfully: memory is just as it should be. */
    void checkFinalMemory() {
        assertThat(exposed.segment().mismatch(MemorySegment.ofArray(exposedModel)))
                .as("%s exposed", name)
                .isEqualTo(-1);
        assertThat(readable.segment().mismatch(MemorySegment.ofArray(readableModel)))
                .isEqualTo(-1);
        for (int slot = 0; slot < SLOTS; slot++) {
            checkSnapshot(slot);
        }
        sends.checkDrained();
        assertThat(sends.outstanding()).isZero();
        assertThat(receives.outstanding()).isEqualTo(postedReceives.size());
    }
}

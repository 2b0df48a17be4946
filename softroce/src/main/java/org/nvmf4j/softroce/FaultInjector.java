package org.nvmf4j.softroce;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.linux.TransmitQueue;
import org.nvmf4j.linux.UdpPeer;
import org.nvmf4j.roce.wire.RocePacket;
import org.nvmf4j.verbs.FaultOptions;

/**
 * Loses, repeats, reorders and damages finished packets on their way to the transmit queue. Each packet takes the same draws from the
 * generator whatever becomes of it, so equal traffic meets equal faults. Damage flips one bit, behind the ICRC's back.
 *
 * <p>A reordered packet waits until the next one has gone, or until the batch after its own.
 */
final class FaultInjector {
    /** Messages that one {@link #send} may put into the queue: the packet, its twin, and one that had waited. */
    static final int MAX_MESSAGES = 3;

    private final FaultOptions options;
    private final SplittableRandom random;
    private final SoftRoceStatistics statistics;
    private final TransmitQueue queue;
    private final MemorySegment held;
    private @Nullable UdpPeer heldPeer;
    private int heldBytes;
    private boolean heldForWholeBatch;
    /** Whether the queue still refers to {@link #held}, which must not change until it is empty. */
    private boolean heldInQueue;

    FaultInjector(FaultOptions options, int vector, TransmitQueue queue, SoftRoceStatistics statistics, Arena arena) {
        this.options = options;
        this.random = new SplittableRandom(options.seed() + vector * 0x9E37_79B9_7F4A_7C15L);
        this.queue = queue;
        this.statistics = statistics;
        this.held = arena.allocate(RocePacket.MAX_BYTES);
    }

    /** Takes a packet, which stays where it is until the queue is empty and may be changed here. */
    void send(UdpPeer peer, MemorySegment packet, long offset, int lengthBytes) {
        boolean lose = random.nextDouble() < options.loss();
        boolean repeat = random.nextDouble() < options.duplicate();
        boolean delay = random.nextDouble() < options.reorder();
        boolean damage = random.nextDouble() < options.corrupt();
        int bit = random.nextInt(lengthBytes * 8);
        if (lose) {
            statistics.add(Counter.FAULTS_LOST, 1);
            return;
        }
        if (damage) {
            long at = offset + (bit >>> 3);
            packet.set(ValueLayout.JAVA_BYTE, at, (byte) (packet.get(ValueLayout.JAVA_BYTE, at) ^ 1 << (bit & 7)));
            statistics.add(Counter.FAULTS_CORRUPTED, 1);
        }
        if (delay && canHold(lengthBytes)) {
            MemorySegment.copy(packet, offset, held, 0, lengthBytes);
            heldPeer = peer;
            heldBytes = lengthBytes;
            heldForWholeBatch = false;
            statistics.add(Counter.FAULTS_REORDERED, 1);
            return;
        }
        emit(peer, packet, offset, lengthBytes);
        if (repeat) {
            emit(peer, packet, offset, lengthBytes);
            statistics.add(Counter.FAULTS_DUPLICATED, 1);
        }
        release();
    }

    private boolean canHold(int lengthBytes) {
        heldInQueue &= !queue.isEmpty();
        return heldPeer == null && !heldInQueue && lengthBytes <= held.byteSize();
    }

    /** Whether a packet waits that {@link #beginBatch} will let go. */
    boolean isHolding() {
        return heldPeer != null;
    }

    /** At the start of each batch, with an empty queue: what waited for a whole batch goes now. */
    void beginBatch() {
        heldInQueue = false;
        if (heldForWholeBatch) {
            release();
        }
        heldForWholeBatch = heldPeer != null;
    }

    private void release() {
        UdpPeer peer = heldPeer;
        if (peer != null) {
            emit(peer, held, 0, heldBytes);
            heldInQueue = true;
            heldPeer = null;
            heldForWholeBatch = false;
        }
    }

    private void emit(UdpPeer peer, MemorySegment packet, long offset, int lengthBytes) {
        queue.seal(); // a message of its own: its IPv4 identification is 0, as the ICRC has it
        queue.begin(peer, lengthBytes);
        queue.append(packet, offset, lengthBytes);
    }
}

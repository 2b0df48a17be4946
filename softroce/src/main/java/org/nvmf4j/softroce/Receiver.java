package org.nvmf4j.softroce;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.linux.ReceiveBatch;
import org.nvmf4j.linux.UdpPeer;
import org.nvmf4j.linux.UdpSocket;
import org.nvmf4j.roce.wire.Bth;
import org.nvmf4j.roce.wire.GsiPacket;
import org.nvmf4j.roce.wire.Icrc;
import org.nvmf4j.roce.wire.RocePacket;

/**
 * Takes packets from a socket, checks everything that can be checked without a queue pair's state, and gives them to their queue
 * pairs. Checks come in the order of their cost: form, queue pair, source address, ICRC. What fails is counted and dropped in silence,
 * as hardware does. (The socket is bound to the device's address and port, so destination and IP header are the kernel's business.)
 */
final class Receiver {
    private static final int SLOTS = 16;
    /** Packets of other vectors that may wait there: see {@link #handOver}. */
    private static final int MAX_HANDED_OVER = 1024;

    private final SoftRoceVector vector;
    private final SoftRoceStatistics statistics;
    private final UdpSocket socket;
    private final ReceiveBatch batch;
    private final MemorySegment buffer;
    private final ByteBuffer view;
    private final @Nullable PacketTap tap;
    private final AtomicInteger waitingFromOthers = new AtomicInteger();

    /** Where the packets at hand came from. */
    private long sourceHigh;

    private long sourceLow;
    private int sourcePort;
    private int sourceScopeId;

    /** The queue pair of the last packet, which has not been settled yet. */
    private @Nullable SoftRoceQueuePair current;

    Receiver(SoftRoceVector vector, UdpSocket socket, @Nullable PacketTap tap, Arena arena) {
        this.vector = vector;
        this.statistics = vector.statistics();
        this.socket = socket;
        this.tap = tap;
        batch = socket.newReceiveBatch(arena, SLOTS);
        buffer = batch.buffer();
        view = buffer.asByteBuffer();
    }

    /** Takes one batch. Returns 0 if nothing had arrived. */
    int receive(long nowNanos) {
        int slots;
        try {
            slots = batch.receive();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot receive on " + socket.localAddress(), e);
        }
        if (slots == 0) {
            return 0;
        }
        for (int slot = 0; slot < slots; slot++) {
            sourceHigh = batch.sourceHigh(slot);
            sourceLow = batch.sourceLow(slot);
            sourcePort = batch.sourcePort(slot);
            sourceScopeId = batch.sourceScopeId(slot);
            packets(batch.offset(slot), batch.lengthBytes(slot), Math.max(batch.segmentBytes(slot), 1), nowNanos);
        }
        settleCurrent();
        statistics.add(Counter.BATCHES_RECEIVED, 1);
        statistics.add(Counter.BUFFERS_RECEIVED, slots);
        return slots;
    }

    /** Datagrams that the kernel joined lie one segment length apart; the last may be shorter. */
    private void packets(long start, int lengthBytes, int segmentBytes, long nowNanos) {
        int index = 0;
        for (int at = 0; at < lengthBytes; at += segmentBytes) {
            packet(buffer, view, start + at, Math.min(segmentBytes, lengthBytes - at), index++, nowNanos);
        }
        statistics.add(Counter.PACKETS_RECEIVED, index);
        statistics.add(Counter.BYTES_RECEIVED, lengthBytes);
    }

    /**
     * Takes one packet.
     *
     * @param index among the datagrams that the kernel joined: its IPv4 identification, if one message brought them all
     */
    private void packet(MemorySegment m, ByteBuffer bytes, long offset, int lengthBytes, int index, long nowNanos) {
        int form = RocePacket.check(m, offset, lengthBytes);
        if (form < 0) {
            statistics.add(dropReason(form), 1);
            return;
        }
        int number = Bth.destinationQpn(m, offset);
        SoftRoceQueuePair queuePair = current;
        if (queuePair == null || queuePair.number() != number) {
            settleCurrent();
            queuePair = vector.find(number);
            if (queuePair == null) {
                other(m, bytes, offset, lengthBytes, number, nowNanos);
                return;
            }
            current = queuePair;
        }
        PeerPath path = queuePair.path();
        if (path == null) {
            statistics.add(Counter.DROPPED_QUEUE_PAIR, 1);
        } else if (!path.isFrom(sourceHigh, sourceLow)) {
            statistics.add(Counter.DROPPED_SOURCE, 1);
        } else {
            int ipv4Id = path.receiveIcrc().check(sourcePort, index, bytes, (int) offset, lengthBytes);
            if (ipv4Id == Icrc.BAD) {
                statistics.add(Counter.DROPPED_ICRC, 1);
                return;
            }
            if (tap != null) {
                tap.received(path.peer(), sourcePort, m, offset, lengthBytes, ipv4Id);
            }
            deliver(queuePair, m, offset, lengthBytes - RocePacket.ICRC_BYTES, nowNanos);
        }
    }

    private void deliver(SoftRoceQueuePair queuePair, MemorySegment m, long offset, int lengthBytes, long nowNanos) {
        try {
            queuePair.rc().onPacket(m, offset, lengthBytes, nowNanos);
            queuePair.onPacketReceived();
        } catch (RuntimeException e) {
            vector.fail(queuePair, e);
        }
    }

    private void settleCurrent() {
        SoftRoceQueuePair last = current;
        if (last != null) {
            vector.settle(last);
            current = null;
        }
    }

    private static Counter dropReason(int form) {
        return switch (form) {
            case RocePacket.UNKNOWN_OPCODE -> Counter.DROPPED_OPCODE;
            case RocePacket.BAD_VERSION -> Counter.DROPPED_VERSION;
            default -> Counter.DROPPED_LENGTH;
        };
    }

    /** A packet for no queue pair of this vector: for connection management, for another vector, or for nobody. */
    private void other(MemorySegment m, ByteBuffer bytes, long offset, int lengthBytes, int number, long nowNanos) {
        SoftRoceVector owner = vector.device().vectorOf(number);
        if (owner != null && owner != vector) {
            handOver(owner, m, offset, lengthBytes);
        } else if (owner == null || number != GsiPacket.QPN) {
            statistics.add(Counter.DROPPED_QUEUE_PAIR, 1);
        } else {
            UdpPeer source = UdpPeer.of(sourceHigh, sourceLow, sourcePort, sourceScopeId);
            vector.device().connectionService().onPacket(m, bytes, offset, lengthBytes, source, nowNanos);
        }
    }

    /** The kernel steers joined datagrams all by the first, so one that belongs to another vector may arrive here. */
    private void handOver(SoftRoceVector owner, MemorySegment m, long offset, int lengthBytes) {
        Receiver receiver = owner.receiver();
        if (receiver.waitingFromOthers.get() >= MAX_HANDED_OVER) {
            statistics.add(Counter.DROPPED_HAND_OVER, 1);
            return;
        }
        statistics.add(Counter.HANDED_OVER, 1);
        receiver.waitingFromOthers.incrementAndGet();
        MemorySegment copy = Arena.ofAuto().allocate(lengthBytes, 8);
        MemorySegment.copy(m, offset, copy, 0, lengthBytes);
        long high = sourceHigh;
        long low = sourceLow;
        int port = sourcePort;
        int scopeId = sourceScopeId;
        owner.execute(() -> receiver.takeOver(copy, high, low, port, scopeId));
    }

    private void takeOver(MemorySegment copy, long high, long low, int port, int scopeId) {
        waitingFromOthers.decrementAndGet();
        sourceHigh = high;
        sourceLow = low;
        sourcePort = port;
        sourceScopeId = scopeId;
        packet(copy, copy.asByteBuffer(), 0, (int) copy.byteSize(), 0, System.nanoTime());
        settleCurrent();
    }

    /** Asks the kernel what it dropped: that takes a system call. */
    void noteKernelDrops() {
        long drops = socket.receiveDrops();
        if (drops > 0) {
            statistics.set(Counter.DROPPED_RECEIVE_BUFFER, drops);
        }
    }
}

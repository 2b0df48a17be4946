package org.nvmf4j.softroce;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.linux.SystemErrors;
import org.nvmf4j.linux.TransmitQueue;
import org.nvmf4j.linux.UdpPeer;
import org.nvmf4j.linux.UdpSocket;
import org.nvmf4j.roce.wire.Icrc;
import org.nvmf4j.roce.wire.PacketSink;
import org.nvmf4j.roce.wire.RocePacket;
import org.nvmf4j.verbs.FaultOptions;
import org.nvmf4j.verbs.OnDemandMemory;

/**
 * The packets that one vector sends at a time. Headers, padding, ICRC, small payloads and those that may vanish lie in a memory area
 * of the batch; other payloads are named where they are, and the kernel gathers them. Packets of one length that follow each other to
 * one peer become one message, whose n-th datagram has IPv4 identification n: the ICRC is computed with that.
 *
 * <p>With a tap or faults every packet is assembled in the area. Confined to the lane; nothing is allocated per packet.
 */
final class TransmitBatch implements PacketSink {
    private static final System.Logger LOG = System.getLogger(TransmitBatch.class.getName());
    /** Up to here a copy is cheaper than another piece for the kernel to gather. */
    private static final int COPY_BYTES = 512;

    private static final int MAX_MESSAGES = 256;
    private static final int MAX_PIECES = 2048;
    private static final int AREA_BYTES = 1 << 20;
    private static final int ALIGNMENT = 16;
    /** Padding and ICRC. */
    private static final int TRAILER_BYTES = 3 + RocePacket.ICRC_BYTES;

    private static final int MAX_PIECES_PER_PACKET = TransmitQueue.MAX_PIECES_PER_DATAGRAM;

    private final TransmitQueue queue;
    private final SoftRoceStatistics statistics;
    private final MemorySegment area;
    private final ByteBuffer areaView;
    private final BufferViews views = new BufferViews();
    private final int copyBytes;
    private final @Nullable PacketTap tap;
    private final @Nullable FaultInjector faults;
    private final MemorySegment[] pieces = new MemorySegment[MAX_PIECES_PER_PACKET];
    private final long[] pieceOffsets = new long[MAX_PIECES_PER_PACKET];
    private final int[] pieceLengths = new int[MAX_PIECES_PER_PACKET];
    private final boolean[] pieceIsInArea = new boolean[MAX_PIECES_PER_PACKET];

    private @Nullable PeerPath path;
    private int budgetBytes;
    private int bytes;
    private boolean full;

    /** Where the packet begun starts in the area, and where its next byte goes. */
    private int start;

    private int fill;
    private int pieceCount;
    private int payloadBytes;
    private int missingBytes;

    TransmitBatch(
            UdpSocket socket,
            int vector,
            @Nullable FaultOptions faultOptions,
            @Nullable PacketTap tap,
            SoftRoceStatistics statistics,
            Arena arena) {
        this.statistics = statistics;
        this.tap = tap;
        queue = socket.newTransmitQueue(arena, MAX_MESSAGES, MAX_PIECES, this::refused);
        area = arena.allocate(AREA_BYTES, 64);
        areaView = area.asByteBuffer();
        faults = faultOptions == null ? null : new FaultInjector(faultOptions, vector, queue, statistics, arena);
        copyBytes = tap == null && faults == null ? COPY_BYTES : Integer.MAX_VALUE;
    }

    /** The kernel drops the message for its own fault: said once, since it would go on with every retry. */
    private void refused(UdpPeer peer, int datagrams, int datagramBytes, int errno) {
        if (statistics.get(Counter.SEND_REFUSED) == 0) {
            String remedy = errno == SystemErrors.EMSGSIZE ? "; the way there carries less: lower the path MTU" : "";
            LOG.log(
                    System.Logger.Level.WARNING,
                    "the system does not send packets of " + datagramBytes + " bytes to " + peer + ": "
                            + SystemErrors.describe(errno) + remedy);
        }
        statistics.add(Counter.SEND_REFUSED, datagrams);
    }

    /** Prepares for packets again; only while {@link #isEmpty}. */
    void start() {
        fill = 0;
        bytes = 0;
        full = false;
        if (faults != null) {
            faults.beginBatch();
        }
    }

    /**
     * Gives the turn to one sender.
     *
     * @param to where its packets go
     * @param bytes after which {@link #begin} refuses, so that others have their turn; one packet always goes
     */
    void turn(PeerPath to, int bytes) {
        path = to;
        budgetBytes = bytes;
    }

    /** Whether no packet has been refused for lack of room since {@link #start}. */
    boolean hasRoom() {
        return !full;
    }

    /** Bytes of packets since {@link #start}. */
    int bytes() {
        return bytes;
    }

    @Override
    public boolean begin(int headerLengthBytes, int payloadLengthBytes) {
        if (budgetBytes <= 0) {
            return false;
        }
        int at = fill + ALIGNMENT - 1 & -ALIGNMENT;
        int most = headerLengthBytes + payloadLengthBytes + TRAILER_BYTES;
        if (most > AREA_BYTES - at || !queue.hasRoom(FaultInjector.MAX_MESSAGES, MAX_PIECES_PER_PACKET)) {
            full = true;
            return false;
        }
        bytes += most;
        budgetBytes -= most;
        start = at;
        fill = at + headerLengthBytes;
        pieceCount = 1;
        pieces[0] = area;
        pieceOffsets[0] = at;
        pieceLengths[0] = headerLengthBytes;
        pieceIsInArea[0] = true;
        payloadBytes = payloadLengthBytes;
        missingBytes = payloadLengthBytes;
        return true;
    }

    @Override
    public MemorySegment headerSegment() {
        return area;
    }

    @Override
    public long headerOffset() {
        return start;
    }

    @Override
    public void payload(MemorySegment source, long offset, int lengthBytes) {
        take(lengthBytes);
        if (lengthBytes <= copyBytes) {
            MemorySegment.copy(source, offset, area, fill, lengthBytes);
            extend(lengthBytes);
        } else {
            piece(source, offset, lengthBytes);
        }
    }

    /** Neither the CRC nor the kernel could bear the loss of such memory: it is copied here, where it is noticed. */
    @Override
    public boolean onDemandPayload(MemorySegment source, long offset, int lengthBytes) {
        take(lengthBytes);
        if (!OnDemandMemory.copy(source, offset, area, fill, lengthBytes)) {
            fill = start;
            return false;
        }
        extend(lengthBytes);
        return true;
    }

    private void take(int lengthBytes) {
        if (lengthBytes > missingBytes) {
            throw new IllegalStateException("more payload than was announced");
        }
        missingBytes -= lengthBytes;
    }

    /** Makes the next bytes of the area part of the packet. */
    private void extend(int lengthBytes) {
        if (pieceIsInArea[pieceCount - 1]) {
            pieceLengths[pieceCount - 1] += lengthBytes;
        } else {
            piece(area, fill, lengthBytes);
            pieceIsInArea[pieceCount - 1] = true;
        }
        fill += lengthBytes;
    }

    private void piece(MemorySegment source, long offset, int lengthBytes) {
        pieces[pieceCount] = source;
        pieceOffsets[pieceCount] = offset;
        pieceLengths[pieceCount] = lengthBytes;
        pieceIsInArea[pieceCount] = false;
        pieceCount++;
    }

    @Override
    public void end() {
        PeerPath to = path;
        if (to == null || missingBytes != 0) {
            throw new IllegalStateException("a packet ended before all of its payload was there");
        }
        int pad = RocePacket.padCount(payloadBytes);
        area.set(ValueLayout.JAVA_INT_UNALIGNED, fill, 0);
        extend(pad);
        int covered = coveredBytes();
        int length = covered + RocePacket.ICRC_BYTES;
        if (faults != null) {
            finish(to.transmitIcrc(), 0, length);
            tap(to, length, 0);
            faults.send(to.peer(), area, start, length);
        } else {
            int index = queue.nextIndex(to.peer(), length);
            finish(to.transmitIcrc(), index, length); // fails if user memory is gone: nothing has begun yet
            queue.begin(to.peer(), length);
            for (int i = 0; i < pieceCount; i++) {
                queue.append(pieces[i], pieceOffsets[i], pieceLengths[i]);
            }
            tap(to, length, index);
        }
        statistics.add(Counter.BYTES_SENT, length);
    }

    private int coveredBytes() {
        int sum = 0;
        for (int i = 0; i < pieceCount; i++) {
            sum += pieceLengths[i];
        }
        return sum;
    }

    /** Computes the ICRC over all pieces and appends it. */
    private void finish(Icrc icrc, int ipv4Id, int length) {
        icrc.begin(RocePacket.UDP_PORT, ipv4Id, length, areaView, start, pieceLengths[0]);
        for (int i = 1; i < pieceCount; i++) {
            if (pieceIsInArea[i]) {
                icrc.update(areaView, (int) pieceOffsets[i], pieceLengths[i]);
            } else {
                icrc.update(
                        views.view(pieces[i], pieceOffsets[i]), BufferViews.position(pieceOffsets[i]), pieceLengths[i]);
            }
        }
        Icrc.put(area, fill, icrc.finish());
        extend(RocePacket.ICRC_BYTES);
    }

    private void tap(PeerPath to, int length, int ipv4Id) {
        if (tap != null) {
            tap.sent(to.peer(), area, start, length, ipv4Id);
        }
    }

    /** Whether nothing waits any more, so that all memory named is its owner's again. */
    boolean isEmpty() {
        return queue.isEmpty();
    }

    /** Whether a reordered packet waits for the next batch. */
    boolean isHolding() {
        return faults != null && faults.isHolding();
    }

    /** Hands everything to the kernel; what it does not take now stays for the next call. */
    void flush() throws IOException {
        if (queue.isEmpty()) {
            return;
        }
        queue.flush();
        statistics.set(Counter.PACKETS_SENT, queue.sentDatagrams());
        statistics.set(Counter.MESSAGES_SENT, queue.sentMessages());
        statistics.set(Counter.SEND_CALLS, queue.sendCalls());
        if (!queue.isEmpty()) {
            statistics.add(Counter.SEND_BUFFER_FULL, 1);
        }
    }

    /**
     * Makes all memory named its owner's again, at once: what the kernel still does not take is lost, as on a network that is full.
     */
    void discardWaiting() {
        if (!queue.isEmpty()) {
            statistics.add(Counter.SEND_DISCARDED, queue.pendingMessages());
            queue.discard();
        }
    }
}

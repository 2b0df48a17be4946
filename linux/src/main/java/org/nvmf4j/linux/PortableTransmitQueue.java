package org.nvmf4j.linux;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.PortUnreachableException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Sends one datagram a call, gathering its pieces in a staging buffer first: each message is one datagram. */
final class PortableTransmitQueue extends TransmitQueue {
    private final PortableUdpSocket socket;
    private final RefusalHandler refusals;
    private final MemorySegment staging;
    private final ByteBuffer stagingView;
    private final @Nullable UdpPeer[] peers;
    private final int[] lengths;
    private final int[] pieceEnds;
    private final @Nullable MemorySegment[] pieceMemory;
    private final long[] pieceOffsets;
    private final int[] pieceLengths;
    private int first;
    private int end;
    private int pieceEnd;
    private int missingBytes;
    private int datagramPieces;
    private long sentDatagrams;
    private long sendCalls;

    PortableTransmitQueue(
            PortableUdpSocket socket, Arena arena, int maxMessages, int maxPieces, RefusalHandler refusals) {
        requireSizes(maxMessages, maxPieces);
        this.socket = socket;
        this.refusals = refusals;
        this.staging = arena.allocate(1 << 16, 64);
        this.stagingView = staging.asByteBuffer();
        this.peers = new UdpPeer[maxMessages];
        this.lengths = new int[maxMessages];
        this.pieceEnds = new int[maxMessages];
        this.pieceMemory = new MemorySegment[maxPieces];
        this.pieceOffsets = new long[maxPieces];
        this.pieceLengths = new int[maxPieces];
    }

    @Override
    public boolean hasRoom(int datagrams, int pieces) {
        return datagrams <= peers.length - end && pieces <= pieceMemory.length - pieceEnd;
    }

    @Override
    public int nextIndex(UdpPeer peer, int lengthBytes) {
        return 0;
    }

    @Override
    public int begin(UdpPeer peer, int lengthBytes) {
        requireComplete(missingBytes);
        requireDatagramLength(lengthBytes);
        requireFamily(peer, socket.isIpv4());
        if (end == peers.length) {
            throw new IllegalStateException("the transmit queue is full: " + end + " messages");
        }
        peers[end] = peer;
        lengths[end] = lengthBytes;
        pieceEnds[end] = pieceEnd;
        end++;
        missingBytes = lengthBytes;
        datagramPieces = 0;
        return 0;
    }

    @Override
    public void append(MemorySegment memory, long offset, int lengthBytes) {
        requirePiece(memory, offset, lengthBytes, missingBytes);
        if (pieceEnd == pieceMemory.length || datagramPieces == MAX_PIECES_PER_DATAGRAM) {
            throw new IllegalStateException(
                    "no room for another piece: " + pieceEnd + " in the queue, " + datagramPieces + " in the datagram");
        }
        pieceMemory[pieceEnd] = memory;
        pieceOffsets[pieceEnd] = offset;
        pieceLengths[pieceEnd] = lengthBytes;
        pieceEnd++;
        pieceEnds[end - 1] = pieceEnd;
        datagramPieces++;
        missingBytes -= lengthBytes;
    }

    @Override
    public void seal() {
        requireComplete(missingBytes);
    }

    @Override
    public int flush() throws IOException {
        requireComplete(missingBytes);
        int sent = 0;
        while (first < end) {
            sendCalls++;
            int errno = send(first);
            if (errno == SystemErrors.EAGAIN) {
                return sent;
            }
            if (errno == 0) {
                sent++;
                sentDatagrams++;
            } else {
                refuse(first, errno);
            }
            first++;
        }
        discard();
        return sent;
    }

    @Override
    public void discard() {
        Arrays.fill(pieceMemory, 0, pieceEnd, null);
        first = 0;
        end = 0;
        pieceEnd = 0;
        missingBytes = 0;
    }

    /** 0 if the datagram went, else why it did not. */
    private int send(int datagram) throws IOException {
        UdpPeer peer = peers[datagram];
        if (peer == null) {
            return 0;
        }
        gather(datagram);
        stagingView.limit(lengths[datagram]).position(0);
        try {
            return socket.channel().send(stagingView, peer.socketAddress()) > 0 ? 0 : SystemErrors.EAGAIN;
        } catch (ClosedChannelException e) {
            throw e;
        } catch (PortUnreachableException e) {
            return SystemErrors.ECONNREFUSED;
        } catch (IOException e) {
            int errno = SystemErrors.fromWords(String.valueOf(e.getMessage()));
            if (errno == 0) {
                throw e;
            }
            return errno == SystemErrors.ENOBUFS ? SystemErrors.EAGAIN : errno;
        }
    }

    private void gather(int datagram) {
        long to = 0;
        for (int i = datagram == 0 ? 0 : pieceEnds[datagram - 1]; i < pieceEnds[datagram]; i++) {
            MemorySegment memory = pieceMemory[i];
            if (memory != null) {
                MemorySegment.copy(memory, pieceOffsets[i], staging, to, pieceLengths[i]);
            }
            to += pieceLengths[i];
        }
    }

    private void refuse(int datagram, int errno) {
        UdpPeer peer = peers[datagram];
        if (peer != null) {
            refusals.refused(peer, 1, lengths[datagram], errno);
        }
    }

    @Override
    public int pendingMessages() {
        return end - first;
    }

    @Override
    public long sentDatagrams() {
        return sentDatagrams;
    }

    @Override
    public long sentMessages() {
        return sentDatagrams;
    }

    @Override
    public long sendCalls() {
        return sendCalls;
    }
}

package org.nvmf4j.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;

/**
 * Sends by {@code sendmmsg} where several messages wait, else by {@code sendmsg}, or {@code sendto} for a single piece,
 * which is quicker by what the kernel need not read. Each message is a header, a name, a control
 * message with the segment size, and a run of pieces; messages and pieces fill their arrays from the front, which start
 * over when all is sent.
 */
final class NativeTransmitQueue extends TransmitQueue {
    private static final int IPPROTO_UDP = 17;
    private static final int UDP_SEGMENT = 103;
    /** CMSG_SPACE and CMSG_LEN of a 16-bit value. */
    private static final int CONTROL_BYTES = 24;

    private static final long CONTROL_LENGTH = 18;
    private static final long CMSG_LEVEL = 8;
    private static final long CMSG_TYPE = 12;
    private static final long CMSG_DATA = 16;
    /** UIO_MAXIOV: the kernel's limit on messages a call and pieces a message. */
    private static final int MAX_PER_CALL = 1024;

    private final NativeUdpSocket socket;
    private final boolean ipv4;
    private final int maxMessages;
    private final int maxPieces;
    private final RefusalHandler refusals;
    private final MemorySegment errnoState = LibC.newErrnoState();
    private final MemorySegment headers;
    private final MemorySegment names;
    private final MemorySegment controls;
    private final MemorySegment pieces;
    private final @Nullable UdpPeer[] peers;
    private final short[] datagrams;
    private final int[] firstLengths;

    /** Messages from first to end wait; pieces up to pieceEnd are in use. */
    private int first;

    private int end;
    private int pieceEnd;

    /** The message at end - 1 takes further datagrams while it is open. */
    private boolean open;

    private int messageFirstPiece;
    private int messageBytes;
    /** Bytes that the datagram started last still lacks, and pieces it has. */
    private int missingBytes;

    private int datagramPieces;

    private long sentDatagrams;
    private long sentMessages;
    private long sendCalls;

    NativeTransmitQueue(NativeUdpSocket socket, Arena arena, int maxMessages, int maxPieces, RefusalHandler refusals) {
        requireSizes(maxMessages, maxPieces);
        this.socket = socket;
        this.ipv4 = socket.isIpv4();
        this.maxMessages = maxMessages;
        this.maxPieces = maxPieces;
        this.refusals = refusals;
        this.headers = arena.allocate(MessageHeaders.STRIDE * maxMessages, 64);
        this.names = arena.allocate((long) SocketAddresses.SLOT_BYTES * maxMessages, 64);
        this.controls = arena.allocate((long) CONTROL_BYTES * maxMessages, 64);
        this.pieces = arena.allocate(MessageHeaders.PIECE_BYTES * maxPieces, 64);
        this.peers = new UdpPeer[maxMessages];
        this.datagrams = new short[maxMessages];
        this.firstLengths = new int[maxMessages];
        for (int i = 0; i < maxMessages; i++) {
            MessageHeaders.setName(headers, i, nameAddress(i), SocketAddresses.length(ipv4));
            long control = controlAt(i);
            controls.set(ValueLayout.JAVA_LONG, control, CONTROL_LENGTH);
            controls.set(ValueLayout.JAVA_INT, control + CMSG_LEVEL, IPPROTO_UDP);
            controls.set(ValueLayout.JAVA_INT, control + CMSG_TYPE, UDP_SEGMENT);
        }
    }

    private long nameAddress(int message) {
        return names.address() + (long) message * SocketAddresses.SLOT_BYTES;
    }

    private static long controlAt(int message) {
        return (long) message * CONTROL_BYTES;
    }

    @Override
    public boolean hasRoom(int datagramCount, int pieceCount) {
        return datagramCount <= maxMessages - end && pieceCount <= maxPieces - pieceEnd;
    }

    @Override
    public int nextIndex(UdpPeer peer, int lengthBytes) {
        return open && joins(peer, lengthBytes) ? datagrams[end - 1] : 0;
    }

    @Override
    public int begin(UdpPeer peer, int lengthBytes) {
        requireComplete(missingBytes);
        requireDatagramLength(lengthBytes);
        int index = 0;
        if (open && joins(peer, lengthBytes)) {
            messageBytes += lengthBytes;
            open = lengthBytes == firstLengths[end - 1];
            index = datagrams[end - 1]++;
        } else {
            startMessage(peer, lengthBytes);
        }
        missingBytes = lengthBytes;
        datagramPieces = 0;
        return index;
    }

    private boolean joins(UdpPeer peer, int lengthBytes) {
        int message = end - 1;
        return peers[message] == peer
                && lengthBytes <= firstLengths[message]
                && datagrams[message] < socket.maxSegments()
                && lengthBytes <= UdpSocket.MAX_DATAGRAM_BYTES - messageBytes
                && pieceEnd - messageFirstPiece <= MAX_PER_CALL - MAX_PIECES_PER_DATAGRAM;
    }

    private void startMessage(UdpPeer peer, int lengthBytes) {
        requireFamily(peer, ipv4);
        if (end == maxMessages) {
            throw new IllegalStateException("the transmit queue is full: " + maxMessages + " messages");
        }
        finishMessage();
        if (peers[end] != peer) {
            SocketAddresses.write(names, (long) end * SocketAddresses.SLOT_BYTES, peer);
            peers[end] = peer;
        }
        datagrams[end] = 1;
        firstLengths[end] = lengthBytes;
        messageBytes = lengthBytes;
        messageFirstPiece = pieceEnd;
        open = true;
        end++;
    }

    @Override
    public void append(MemorySegment memory, long offset, int lengthBytes) {
        requirePiece(memory, offset, lengthBytes, missingBytes);
        if (pieceEnd == maxPieces || datagramPieces == MAX_PIECES_PER_DATAGRAM) {
            throw new IllegalStateException(
                    "no room for another piece: " + pieceEnd + " in the queue, " + datagramPieces + " in the datagram");
        }
        MessageHeaders.setPiece(pieces, pieceEnd, memory.address() + offset, lengthBytes);
        pieceEnd++;
        datagramPieces++;
        missingBytes -= lengthBytes;
    }

    @Override
    public void seal() {
        requireComplete(missingBytes);
        open = false;
    }

    /** Writes the header of the message added last; again if it has grown since. */
    private void finishMessage() {
        if (end == first) {
            return;
        }
        int message = end - 1;
        MessageHeaders.setPieces(
                headers,
                message,
                pieces.address() + messageFirstPiece * MessageHeaders.PIECE_BYTES,
                pieceEnd - messageFirstPiece);
        if (datagrams[message] > 1) {
            controls.set(ValueLayout.JAVA_SHORT, controlAt(message) + CMSG_DATA, (short) firstLengths[message]);
            MessageHeaders.setControl(headers, message, controls.address() + controlAt(message), CONTROL_BYTES);
        } else {
            MessageHeaders.setControl(headers, message, 0, 0);
        }
    }

    @Override
    public int flush() throws LinuxException {
        requireComplete(missingBytes);
        finishMessage();
        int before = first;
        int refused = 0;
        while (first < end) {
            int result = send();
            sendCalls++;
            if (result > 0) {
                countSent(result);
            } else if (-result == SystemErrors.EAGAIN || -result == SystemErrors.ENOBUFS) {
                return first - before - refused;
            } else if (-result != SystemErrors.EINTR && -result != SystemErrors.ECONNREFUSED) {
                refuse(-result);
                refused++;
            }
        }
        int sent = end - before - refused;
        discard();
        return sent;
    }

    @Override
    public void discard() {
        first = 0;
        end = 0;
        pieceEnd = 0;
        missingBytes = 0;
        open = false;
    }

    /** How many messages went, at least 1, or {@code -errno}. */
    private int send() {
        long header = headers.address() + first * MessageHeaders.STRIDE;
        int waiting = end - first;
        if (waiting > 1) {
            return LibC.sendmmsg(errnoState, socket.fd(), header, Math.min(waiting, MAX_PER_CALL), 0);
        }
        int result = pieceEnd - messageFirstPiece == 1 && datagrams[first] == 1
                ? LibC.sendto(
                        errnoState,
                        socket.fd(),
                        MessageHeaders.pieceAddress(pieces, messageFirstPiece),
                        firstLengths[first],
                        nameAddress(first),
                        SocketAddresses.length(ipv4))
                : LibC.sendmsg(errnoState, socket.fd(), header, 0);
        return result < 0 ? result : 1;
    }

    private void countSent(int messages) {
        sentMessages += messages;
        for (int i = 0; i < messages; i++) {
            sentDatagrams += datagrams[first++];
        }
    }

    /** Drops the first message, or fails if the error is not the message's fault. */
    private void refuse(int errno) throws LinuxException {
        if (errno == SystemErrors.EFAULT || errno == SystemErrors.EBADF) {
            throw new LinuxException("sendmsg", errno);
        }
        int message = first++;
        if (errno == SystemErrors.EIO && datagrams[message] > 1) {
            socket.giveUpSegmentation();
        }
        UdpPeer peer = peers[message];
        if (peer != null) {
            refusals.refused(peer, datagrams[message], firstLengths[message], errno);
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
        return sentMessages;
    }

    @Override
    public long sendCalls() {
        return sendCalls;
    }
}

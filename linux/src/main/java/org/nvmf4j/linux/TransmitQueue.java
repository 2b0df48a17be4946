package org.nvmf4j.linux;

import java.io.IOException;
import java.lang.foreign.MemorySegment;

/**
 * Datagrams on their way to the kernel, sent in as few system calls as it allows. Datagrams to one peer that follow each
 * other and have one length (the last may be shorter) travel as one message, which the kernel splits again.
 *
 * <pre>{@code
 * if (queue.hasRoom(1, 3)) {
 *     int index = queue.begin(peer, 12 + 4096 + 4); // the datagram's index in its message
 *     queue.append(headers, headerOffset, 12);
 *     queue.append(userMemory, dataOffset, 4096);
 *     queue.append(trailers, trailerOffset, 4);
 * }
 * queue.flush();
 * }</pre>
 *
 * <p>The memory of appended pieces belongs to the queue, and must not change, until {@link #isEmpty} is true or {@link
 * #pendingMessages} says that the message has gone: the native queue hands it to the kernel without a copy.
 *
 * <p>Owned by one thread. No method allocates.
 */
public abstract sealed class TransmitQueue permits NativeTransmitQueue, PortableTransmitQueue {
    /** The most pieces one datagram may have. */
    public static final int MAX_PIECES_PER_DATAGRAM = 16;

    /** Hears of messages that the kernel refused for their own fault; they are dropped, as a network might drop them. */
    @FunctionalInterface
    public interface RefusalHandler {
        /**
         * A message was dropped.
         *
         * @param peer its destination
         * @param datagrams how many datagrams it held
         * @param datagramBytes the length of the first, in bytes
         * @param errno why, for instance {@link SystemErrors#EMSGSIZE}, when the path carries less; {@link
         *     SystemErrors#EIO} when the device cannot segment, after which {@link UdpSocket#maxSegments} is 1
         */
        void refused(UdpPeer peer, int datagrams, int datagramBytes, int errno);
    }

    TransmitQueue() {}

    static void requireSizes(int maxMessages, int maxPieces) {
        if (maxMessages < 1 || maxMessages > 1 << 16 || maxPieces < maxMessages || maxPieces > 1 << 20) {
            throw new IllegalArgumentException("a queue of " + maxMessages + " messages and " + maxPieces
                    + " pieces: messages must be 1 to 65536, pieces at least as many and at most 1048576");
        }
    }

    static void requireDatagramLength(int lengthBytes) {
        if (lengthBytes < 1 || lengthBytes > UdpSocket.MAX_DATAGRAM_BYTES) {
            throw new IllegalArgumentException(
                    lengthBytes + " bytes are not 1 to " + UdpSocket.MAX_DATAGRAM_BYTES + " of a datagram");
        }
    }

    static void requireFamily(UdpPeer peer, boolean ipv4) {
        if (peer.isIpv4() != ipv4) {
            throw new IllegalArgumentException(
                    "peer " + peer + " cannot be reached from an " + (ipv4 ? "IPv4" : "IPv6") + " socket");
        }
    }

    static void requirePiece(MemorySegment memory, long offset, int lengthBytes, int missingBytes) {
        long size = memory.byteSize();
        if (offset < 0 || lengthBytes < 1 || offset > size || lengthBytes > size - offset) {
            throw new IndexOutOfBoundsException(
                    "piece of " + lengthBytes + " bytes at " + offset + " of " + size + " bytes of memory");
        }
        if (!memory.isNative()) {
            throw new IllegalArgumentException("a piece must be native memory, not of the Java heap");
        }
        if (lengthBytes > missingBytes) {
            throw new IllegalStateException(
                    "a piece of " + lengthBytes + " bytes where the datagram lacks " + missingBytes);
        }
    }

    static void requireComplete(int missingBytes) {
        if (missingBytes != 0) {
            throw new IllegalStateException("the datagram started last lacks " + missingBytes + " bytes");
        }
    }

    /** True if so many datagrams with so many pieces together can be added now. */
    public abstract boolean hasRoom(int datagrams, int pieces);

    /**
     * The index that {@link #begin} would give a datagram now; for those whose contents depend on it and who want to have
     * them ready first.
     *
     * @param peer see {@link #begin}
     * @param lengthBytes see {@link #begin}
     */
    public abstract int nextIndex(UdpPeer peer, int lengthBytes);

    /**
     * Starts a datagram, ending the one before it.
     *
     * @param peer its destination, of the socket's address family
     * @param lengthBytes its length, 1 to {@link UdpSocket#MAX_DATAGRAM_BYTES}: the sum of the pieces to follow
     * @return its index in the message that it joins, 0 for the first of a message; on IPv4 this is the identification
     *     it gets on the wire
     * @throws IllegalStateException if the datagram before it lacks pieces, or the queue is full
     */
    public abstract int begin(UdpPeer peer, int lengthBytes);

    /**
     * Adds a piece to the datagram started last.
     *
     * @param memory native memory
     * @param offset of the piece in it, in bytes
     * @param lengthBytes of the piece, positive
     * @throws IllegalStateException if the datagram gets longer than was said, or the queue is full
     * @throws IndexOutOfBoundsException if the piece is not within the memory
     */
    public abstract void append(MemorySegment memory, long offset, int lengthBytes);

    /** Makes the next datagram start a message of its own, even if it could join. */
    public abstract void seal();

    /**
     * Sends what waits, until all is gone or the kernel takes no more.
     *
     * @return how many messages went; the rest, if any, waits for the next call ({@link UdpWaiter#await} waits for room)
     * @throws IOException if the socket is closed, or a piece's memory no longer exists
     */
    public abstract int flush() throws IOException;

    /** Drops what waits, and with it a datagram that lacks pieces, so that all memory is the caller's again. */
    public abstract void discard();

    /** How many messages wait. */
    public abstract int pendingMessages();

    /** True if no message waits, so that the memory of all pieces is the caller's again. */
    public final boolean isEmpty() {
        return pendingMessages() == 0;
    }

    /** Datagrams handed to the kernel so far. */
    public abstract long sentDatagrams();

    /** Messages handed to the kernel so far. */
    public abstract long sentMessages();

    /** System calls made to send so far. */
    public abstract long sendCalls();
}

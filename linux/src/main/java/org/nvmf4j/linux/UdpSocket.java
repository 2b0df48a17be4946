package org.nvmf4j.linux;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * A non-blocking UDP socket bound to one local address, for a data plane: it sends to any peer, in batches, and nothing
 * on its send and receive paths allocates.
 *
 * <p>Datagrams are never fragmented. On IPv4 every datagram carries the don't-fragment bit and the identification 0;
 * where the kernel splits a message into datagrams (see {@link TransmitQueue}) datagram <em>i</em> of the message has
 * identification <em>i</em>.
 *
 * <p>A socket and the queues and batches made by it are used by one thread at a time.
 */
public abstract sealed class UdpSocket implements AutoCloseable permits NativeUdpSocket, PortableUdpSocket {
    /** The longest UDP payload, in bytes, and the most that one message of several datagrams may hold. */
    public static final int MAX_DATAGRAM_BYTES = 65_507;

    UdpSocket() {}

    /**
     * Opens a socket that nobody shares the port with.
     *
     * @param local an address of this machine; its family is the socket's family
     * @param port 0 to 65535; 0 takes a free one
     * @throws PortTakenException if another socket has the port; the message says whose
     * @throws IOException if the address is not of this machine, or the system refuses otherwise
     */
    public static UdpSocket open(InetAddress local, int port, UdpOptions options) throws IOException {
        return UdpSockets.open(local, port, options);
    }

    /**
     * Opens sockets that share one port, each with its share of the datagrams. No other process that uses this method or
     * {@link #open} can share the port.
     *
     * @param local an address of this machine
     * @param port 0 to 65535; 0 takes a free one
     * @param count how many sockets, a power of two, at most 256
     * @param rule which socket receives what
     * @return the sockets in the order of their index: {@code count} of them, or one where the implementation cannot
     *     steer (the portable one)
     * @throws PortTakenException if another socket has the port; the message says whose
     */
    public static List<UdpSocket> openGroup(
            InetAddress local, int port, int count, SteeringRule rule, UdpOptions options) throws IOException {
        return UdpSockets.openGroup(local, port, count, rule, options);
    }

    /**
     * As {@link #openGroup}, on a loopback address 127.x.y.z on which the port is free. Safe against others who look for
     * one at the same time: the address is chosen by binding it.
     *
     * @param random chooses the addresses to try
     * @throws PortTakenException if something holds the port on all addresses
     */
    public static List<UdpSocket> openGroupOnFreeLoopbackAddress(
            int port, int count, SteeringRule rule, UdpOptions options, RandomGenerator random) throws IOException {
        return UdpSockets.openGroupOnFreeLoopbackAddress(port, count, rule, options, random);
    }

    /** The address and port bound. */
    public abstract InetSocketAddress localAddress();

    /** What this socket can do, in a line for a log: implementation, offloads, buffer sizes. */
    public abstract String description();

    /** True for the native implementation. */
    public abstract boolean isNative();

    /**
     * How many datagrams one message may hold now: 1 without segmentation, else up to 64. It falls to 1 for good if the
     * kernel turns out unable to segment on the way to some peer.
     */
    public abstract int maxSegments();

    /** True if the kernel joins datagrams, so that a received buffer may hold several. */
    public abstract boolean coalesces();

    /** The receive buffer that the kernel granted, in its accounting, which also charges its own overhead. */
    public abstract int receiveBufferBytes();

    /** The send buffer that the kernel granted, in its accounting. */
    public abstract int sendBufferBytes();

    /** How many datagrams the kernel dropped because the receive buffer was full, modulo 2^32; -1 where it does not tell. */
    public abstract long receiveDrops();

    /**
     * A batch to receive into. Memory comes from the arena; pages are taken from the system as they fill.
     *
     * @param arena outlives the batch's use; a confined or the global arena is faster than a shared one
     * @param slots how many datagrams (or runs of coalesced ones) one call may take, 1 to 1024
     */
    public abstract ReceiveBatch newReceiveBatch(Arena arena, int slots);

    /**
     * A queue to send with.
     *
     * @param arena outlives the queue's use; a confined or the global arena is faster than a shared one
     * @param maxMessages how many messages may wait, 1 to 65536
     * @param maxPieces how many pieces of memory the waiting messages may have together
     * @param refusals hears of messages that the kernel refused
     */
    public abstract TransmitQueue newTransmitQueue(
            Arena arena, int maxMessages, int maxPieces, TransmitQueue.RefusalHandler refusals);

    /** Closes the socket. Its owner calls this, or another thread after the owner has stopped. Idempotent. */
    @Override
    public abstract void close();
}

package org.nvmf4j.linux;

import java.io.IOException;
import java.lang.foreign.MemorySegment;

/**
 * Slots that one call fills with what has arrived. A slot holds one datagram, or several of one source and one length
 * that the kernel joined (the last may be shorter): they lie {@link #segmentBytes} apart.
 *
 * <p>Owned by one thread. {@link #receive} overwrites what the call before it received. Nothing but {@link #source}
 * allocates.
 */
public abstract sealed class ReceiveBatch permits NativeReceiveBatch, PortableReceiveBatch {
    /** The size of a slot in {@link #buffer}: no datagram or run of datagrams is longer. */
    public static final int SLOT_BYTES = 1 << 16;

    ReceiveBatch() {}

    /**
     * Takes what has arrived, without waiting.
     *
     * @return how many slots it filled, counted from 0; 0 if nothing has arrived
     * @throws IOException if the socket is closed, or the system is out of memory
     */
    public abstract int receive() throws IOException;

    /** How many slots there are. */
    public abstract int slots();

    /** The memory of all slots. */
    public abstract MemorySegment buffer();

    /** Where the slot starts in {@link #buffer}. */
    public final long offset(int slot) {
        return (long) slot * SLOT_BYTES;
    }

    /** How many bytes the slot holds. */
    public abstract int lengthBytes(int slot);

    /** The length of each datagram in the slot but the last, which may be shorter; at least 1, or 0 for an empty datagram. */
    public abstract int segmentBytes(int slot);

    /** Bytes 0 to 7 of the source's IPv6 or IPv4-mapped address, big-endian. */
    public abstract long sourceHigh(int slot);

    /** Bytes 8 to 15 of the source's IPv6 or IPv4-mapped address, big-endian. */
    public abstract long sourceLow(int slot);

    /** The source's port. */
    public abstract int sourcePort(int slot);

    /** The interface index of a link-local IPv6 source, else 0. */
    public abstract int sourceScopeId(int slot);

    /** True if the slot came from this peer. */
    public final boolean isFrom(UdpPeer peer, int slot) {
        return peer.matches(sourceHigh(slot), sourceLow(slot), sourcePort(slot));
    }

    /** The source as an object of its own, newly made. */
    public final UdpPeer source(int slot) {
        return UdpPeer.of(sourceHigh(slot), sourceLow(slot), sourcePort(slot), sourceScopeId(slot));
    }
}

package org.nvmf4j.roce.wire;

import java.lang.foreign.MemorySegment;

/**
 * Where a state machine puts the packets it wants sent: a batch with limited room. The writer begins a packet, fills its headers at
 * {@link #headerSegment}/{@link #headerOffset}, names its payload piece by piece and ends it; pad and ICRC are the sink's business.
 */
public interface PacketSink {
    /**
     * Begins a packet.
     *
     * @param headerLengthBytes BTH and extension headers
     * @param payloadLengthBytes without pad
     * @return false if there is no room now; the writer tries again with a later batch
     */
    boolean begin(int headerLengthBytes, int payloadLengthBytes);

    /** Where the headers of the packet begun go. */
    MemorySegment headerSegment();

    long headerOffset();

    /** The next piece of the payload; the bytes must not change before the batch has been sent. */
    void payload(MemorySegment source, long offset, int lengthBytes);

    /**
     * The next piece of the payload, from memory that may be taken away: it has been copied when this returns.
     *
     * @return false if the memory is gone: the packet is dropped, and the next thing to do is to begin another
     */
    boolean onDemandPayload(MemorySegment source, long offset, int lengthBytes);

    /** Ends the packet: all headers and the announced payload are there. */
    void end();
}

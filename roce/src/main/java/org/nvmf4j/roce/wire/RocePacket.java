package org.nvmf4j.roce.wire;

import java.lang.foreign.MemorySegment;

/**
 * A RoCEv2 packet as a UDP payload: BTH, extension headers, payload, padding to a multiple of 4, ICRC.
 *
 * <p>{@link #check} must have accepted a packet before any header accessor touches it.
 */
public final class RocePacket {
    /** UDP destination port of every RoCEv2 packet, requests and responses alike. */
    public static final int UDP_PORT = 4791;

    /** Bytes of the invariant CRC at the end. */
    public static final int ICRC_BYTES = 4;

    /** Bytes of the shortest packet: a header and its ICRC. */
    public static final int MIN_BYTES = Bth.LENGTH + ICRC_BYTES;

    /** Bytes of the longest packet of a known opcode at the largest path MTU. */
    public static final int MAX_BYTES = Bth.LENGTH + Reth.LENGTH + ImmDt.LENGTH + PathMtu.MAX_BYTES + ICRC_BYTES;

    /** {@link #check}: shorter than its headers, or not a multiple of 4 bytes. */
    public static final int BAD_LENGTH = -1;
    /** {@link #check}: an opcode that this package does not know. */
    public static final int UNKNOWN_OPCODE = -2;
    /** {@link #check}: a transport header version other than 0. */
    public static final int BAD_VERSION = -3;
    /** {@link #check}: more padding than there are bytes, or payload where the opcode has none. */
    public static final int BAD_PAYLOAD = -4;

    private RocePacket() {}

    /**
     * Checks everything about a packet that its bytes alone can tell, except the ICRC.
     *
     * @param offset of the BTH
     * @param bytes of the UDP payload, ICRC included, all of them inside the segment
     * @return bytes of payload without padding, or one of the negative constants of this class
     */
    public static int check(MemorySegment m, long offset, int bytes) {
        if (bytes < MIN_BYTES || (bytes & 3) != 0) {
            return BAD_LENGTH;
        }
        int opcode = Bth.opcode(m, offset);
        int flags = Opcode.flags(opcode);
        if (flags == 0) {
            return UNKNOWN_OPCODE;
        }
        if (Bth.transportVersion(m, offset) != 0) {
            return BAD_VERSION;
        }
        int padded = bytes - ICRC_BYTES - Opcode.headerBytes(opcode);
        if (padded < 0) {
            return BAD_LENGTH;
        }
        int payload = padded - Bth.padCount(m, offset);
        return payload < 0 || ((flags & Opcode.HAS_PAYLOAD) == 0 && padded != 0) ? BAD_PAYLOAD : payload;
    }

    /** Padding that a payload needs, 0 to 3. */
    public static int padCount(int payloadBytes) {
        return -payloadBytes & 3;
    }
}

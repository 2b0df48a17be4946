package org.nvmf4j.roce.wire;

import java.lang.foreign.MemorySegment;

/**
 * Accessors of the base transport header (BTH), the 12 bytes with which every RoCEv2 packet begins behind the UDP header.
 *
 * <p>All methods take the segment and the offset of the header in it; nothing is checked beyond the bounds of the segment, so a
 * received packet goes through {@link RocePacket#check} first. IBTA volume 1, section 9.2.
 */
public final class Bth {
    /** Bytes of the header. */
    public static final int LENGTH = 12;

    /** The default partition key with full membership, which RoCE uses throughout. */
    public static final int DEFAULT_P_KEY = 0xFFFF;

    /** Second byte: solicited event. */
    public static final int SOLICITED_EVENT = 0x80;
    /** Second byte: migration request; hardware sends 1 on reliable connections, receivers take both. */
    public static final int MIGRATION_REQUEST = 0x40;

    private static final int FLAGS = 1;
    private static final int P_KEY = 2;
    private static final int CONGESTION = 4;
    private static final int ACK_REQUEST = 8;

    private Bth() {}

    public static int opcode(MemorySegment m, long offset) {
        return BigEndian.getByte(m, offset);
    }

    public static boolean solicitedEvent(MemorySegment m, long offset) {
        return (BigEndian.getByte(m, offset + FLAGS) & SOLICITED_EVENT) != 0;
    }

    public static boolean migrationRequest(MemorySegment m, long offset) {
        return (BigEndian.getByte(m, offset + FLAGS) & MIGRATION_REQUEST) != 0;
    }

    /** Bytes of padding behind the payload, 0 to 3. */
    public static int padCount(MemorySegment m, long offset) {
        return BigEndian.getByte(m, offset + FLAGS) >>> 4 & 3;
    }

    /** Transport header version; only 0 exists. */
    public static int transportVersion(MemorySegment m, long offset) {
        return BigEndian.getByte(m, offset + FLAGS) & 0xF;
    }

    public static int pKey(MemorySegment m, long offset) {
        return BigEndian.getShort(m, offset + P_KEY);
    }

    /** Forward explicit congestion notification. */
    public static boolean fecn(MemorySegment m, long offset) {
        return (BigEndian.getByte(m, offset + CONGESTION) & 0x80) != 0;
    }

    /** Backward explicit congestion notification. */
    public static boolean becn(MemorySegment m, long offset) {
        return (BigEndian.getByte(m, offset + CONGESTION) & 0x40) != 0;
    }

    /** Destination queue pair number, 24 bits. */
    public static int destinationQpn(MemorySegment m, long offset) {
        return BigEndian.getInt(m, offset + CONGESTION) & 0xFF_FFFF;
    }

    /** Whether the responder is asked to acknowledge. */
    public static boolean ackRequest(MemorySegment m, long offset) {
        return (BigEndian.getByte(m, offset + ACK_REQUEST) & 0x80) != 0;
    }

    /** Packet sequence number, 24 bits. */
    public static int psn(MemorySegment m, long offset) {
        return BigEndian.getInt(m, offset + ACK_REQUEST) & 0xFF_FFFF;
    }

    /**
     * Writes a whole header with the default partition key and no congestion marks.
     *
     * @param flags any of {@link #SOLICITED_EVENT} and {@link #MIGRATION_REQUEST}
     * @param padCount 0 to 3
     * @param destinationQpn 24 bits
     * @param psn 24 bits
     */
    public static void write(
            MemorySegment m,
            long offset,
            int opcode,
            int flags,
            int padCount,
            int destinationQpn,
            boolean ackRequest,
            int psn) {
        BigEndian.putInt(m, offset, opcode << 24 | (flags | padCount << 4) << 16 | DEFAULT_P_KEY);
        BigEndian.putInt(m, offset + CONGESTION, destinationQpn & 0xFF_FFFF);
        BigEndian.putInt(m, offset + ACK_REQUEST, (ackRequest ? 0x8000_0000 : 0) | (psn & 0xFF_FFFF));
    }

    /** Changes the acknowledge request of a header that is written already. */
    public static void setAckRequest(MemorySegment m, long offset, boolean ackRequest) {
        BigEndian.putByte(m, offset + ACK_REQUEST, ackRequest ? 0x80 : 0);
    }

    /** Changes the sequence number of a header that is written already. */
    public static void setPsn(MemorySegment m, long offset, int psn) {
        BigEndian.putLow24(m, offset + ACK_REQUEST, psn);
    }
}

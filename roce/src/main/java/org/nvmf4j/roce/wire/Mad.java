package org.nvmf4j.roce.wire;

import java.lang.foreign.MemorySegment;

/**
 * Accessors of a management datagram (MAD) of the communication management class: 256 bytes of which 24 are this header. IBTA volume
 * 1, sections 13.4.2 and 12.6.
 */
public final class Mad {
    /** Bytes of every MAD. */
    public static final int LENGTH = 256;

    /** Bytes of the header; the message follows. */
    public static final int HEADER_LENGTH = 24;

    public static final int REQ = 0x10;
    public static final int MRA = 0x11;
    public static final int REJ = 0x12;
    public static final int REP = 0x13;
    public static final int RTU = 0x14;
    public static final int DREQ = 0x15;
    public static final int DREP = 0x16;

    /** Base version 1, class 7 (communication management), class version 2, method 3 (Send), which all CM messages have. */
    private static final int CM_SEND = 0x01_07_02_03;

    private static final int TRANSACTION_ID = 8;
    private static final int ATTRIBUTE_ID = 16;

    private Mad() {}

    /** Whether versions, class and method are those of CM messages; receivers ignore anything else. */
    public static boolean isCm(MemorySegment m, long offset) {
        return BigEndian.getInt(m, offset) == CM_SEND;
    }

    public static int attributeId(MemorySegment m, long offset) {
        return BigEndian.getShort(m, offset + ATTRIBUTE_ID);
    }

    public static long transactionId(MemorySegment m, long offset) {
        return BigEndian.getLong(m, offset + TRANSACTION_ID);
    }

    /** Clears a whole MAD and writes its header. */
    public static void write(MemorySegment m, long offset, int attributeId, long transactionId) {
        m.asSlice(offset, LENGTH).fill((byte) 0);
        BigEndian.putInt(m, offset, CM_SEND);
        BigEndian.putLong(m, offset + TRANSACTION_ID, transactionId);
        BigEndian.putShort(m, offset + ATTRIBUTE_ID, attributeId);
    }

    /** The name of a CM attribute: REQ, REP and so on. */
    public static String name(int attributeId) {
        return switch (attributeId) {
            case REQ -> "REQ";
            case MRA -> "MRA";
            case REJ -> "REJ";
            case REP -> "REP";
            case RTU -> "RTU";
            case DREQ -> "DREQ";
            case DREP -> "DREP";
            default -> "attribute 0x" + Integer.toHexString(attributeId);
        };
    }
}

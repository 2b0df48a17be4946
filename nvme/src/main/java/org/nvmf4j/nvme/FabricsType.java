package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;
import java.util.Locale;

/** Types of Fabrics commands, in byte 4 of a command with opcode {@link AdminOpcode#FABRICS} (NVMe Base 2.0). */
public final class FabricsType {
    public static final int PROPERTY_SET = 0x00;
    public static final int CONNECT = 0x01;
    public static final int PROPERTY_GET = 0x04;
    public static final int AUTHENTICATION_SEND = 0x05;
    public static final int AUTHENTICATION_RECEIVE = 0x06;
    public static final int DISCONNECT = 0x08;

    private static final int FCTYPE = 4;

    private FabricsType() {}

    /** FCTYPE of the command at {@code offset}. */
    public static int fctype(MemorySegment segment, long offset) {
        return Bytes.u8(segment, offset + FCTYPE);
    }

    static void fctype(MemorySegment segment, long offset, int value) {
        Bytes.u8(segment, offset + FCTYPE, value);
    }

    /** The standard's name, or the number in hexadecimal. */
    public static String name(int fctype) {
        return switch (fctype) {
            case PROPERTY_SET -> "Property Set";
            case CONNECT -> "Connect";
            case PROPERTY_GET -> "Property Get";
            case AUTHENTICATION_SEND -> "Authentication Send";
            case AUTHENTICATION_RECEIVE -> "Authentication Receive";
            case DISCONNECT -> "Disconnect";
            default -> String.format(Locale.ROOT, "Fabrics type 0x%02x", fctype);
        };
    }
}

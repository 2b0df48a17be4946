package org.nvmf4j.nvme;

import java.util.Locale;

/** Opcodes of the NVM command set (NVM Command Set 1.0). */
public final class IoOpcode {
    public static final int FLUSH = 0x00;
    public static final int WRITE = 0x01;
    public static final int READ = 0x02;
    public static final int WRITE_UNCORRECTABLE = 0x04;
    public static final int COMPARE = 0x05;
    public static final int WRITE_ZEROES = 0x08;
    public static final int DATASET_MANAGEMENT = 0x09;
    public static final int VERIFY = 0x0c;
    public static final int RESERVATION_REGISTER = 0x0d;
    public static final int RESERVATION_REPORT = 0x0e;
    public static final int RESERVATION_ACQUIRE = 0x11;
    public static final int RESERVATION_RELEASE = 0x15;
    public static final int COPY = 0x19;

    private IoOpcode() {}

    /** The standard's name, or the number in hexadecimal. */
    public static String name(int opcode) {
        return switch (opcode) {
            case FLUSH -> "Flush";
            case WRITE -> "Write";
            case READ -> "Read";
            case WRITE_UNCORRECTABLE -> "Write Uncorrectable";
            case COMPARE -> "Compare";
            case WRITE_ZEROES -> "Write Zeroes";
            case DATASET_MANAGEMENT -> "Dataset Management";
            case VERIFY -> "Verify";
            case RESERVATION_REGISTER -> "Reservation Register";
            case RESERVATION_REPORT -> "Reservation Report";
            case RESERVATION_ACQUIRE -> "Reservation Acquire";
            case RESERVATION_RELEASE -> "Reservation Release";
            case COPY -> "Copy";
            case AdminOpcode.FABRICS -> "Fabrics";
            default -> String.format(Locale.ROOT, "I/O opcode 0x%02x", opcode);
        };
    }
}

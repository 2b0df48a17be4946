package org.nvmf4j.roce.wire;

/**
 * The syndrome byte of an AETH: an acknowledgement with a credit code, an RNR NAK with a timer code, or a NAK with its reason.
 * IBTA volume 1, table 45.
 */
public final class AethSyndrome {
    /** Acknowledgement without end-to-end credits, as every software device sends it. */
    public static final int ACK = 0x1F;

    /** Base of the RNR NAKs: add the timer code. */
    public static final int RNR_NAK = 0x20;

    public static final int NAK_PSN_SEQUENCE_ERROR = 0x60;
    public static final int NAK_INVALID_REQUEST = 0x61;
    public static final int NAK_REMOTE_ACCESS_ERROR = 0x62;
    public static final int NAK_REMOTE_OPERATIONAL_ERROR = 0x63;
    public static final int NAK_INVALID_RD_REQUEST = 0x64;

    private static final int KIND_MASK = 0xE0;
    private static final int VALUE_MASK = 0x1F;
    private static final int KIND_ACK = 0x00;
    private static final int KIND_NAK = 0x60;

    /** Hundredths of a millisecond by timer code; code 0 is the longest. */
    private static final int[] RNR_TIMER_10_MICROS = {
        65_536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, //
        256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12_288, 16_384, 24_576, 32_768, 49_152
    };

    private AethSyndrome() {}

    public static boolean isAck(int syndrome) {
        return (syndrome & KIND_MASK) == KIND_ACK;
    }

    public static boolean isRnrNak(int syndrome) {
        return (syndrome & KIND_MASK) == RNR_NAK;
    }

    /** Whether this is a NAK other than RNR, with whatever reason. */
    public static boolean isNak(int syndrome) {
        return (syndrome & KIND_MASK) == KIND_NAK;
    }

    /** Low five bits: credit code, timer code or reason. */
    public static int value(int syndrome) {
        return syndrome & VALUE_MASK;
    }

    /** The syndrome of an RNR NAK with a timer code from 0 to 31. */
    public static int rnrNak(int timerCode) {
        return RNR_NAK | (timerCode & VALUE_MASK);
    }

    /** How long an RNR NAK with a timer code (low five bits of the argument) asks to wait. */
    public static long rnrTimerNanos(int timerCode) {
        return RNR_TIMER_10_MICROS[timerCode & VALUE_MASK] * 10_000L;
    }

    /** The shortest timer code that waits at least that long; the longest where none does. */
    public static int rnrTimerCode(long nanos) {
        for (int code = 1; code <= VALUE_MASK; code++) {
            if (rnrTimerNanos(code) >= nanos) {
                return code;
            }
        }
        return 0;
    }

    /** Receives that a credit code (0 to 30) grants, or −1 for code 31, which grants nothing and forbids nothing. */
    public static int credits(int syndrome) {
        int code = value(syndrome);
        if (code == VALUE_MASK) {
            return -1;
        }
        return code < 2 ? code : (2 + (code & 1)) << ((code >> 1) - 1);
    }

    /** The syndrome in words. */
    public static String words(int syndrome) {
        if (isAck(syndrome)) {
            return credits(syndrome) < 0 ? "ACK" : "ACK credits " + credits(syndrome);
        }
        if (isRnrNak(syndrome)) {
            return "RNR NAK wait " + rnrTimerNanos(syndrome) / 1000 + " us";
        }
        return switch (syndrome) {
            case NAK_PSN_SEQUENCE_ERROR -> "NAK PSN sequence error";
            case NAK_INVALID_REQUEST -> "NAK invalid request";
            case NAK_REMOTE_ACCESS_ERROR -> "NAK remote access error";
            case NAK_REMOTE_OPERATIONAL_ERROR -> "NAK remote operational error";
            case NAK_INVALID_RD_REQUEST -> "NAK invalid RD request";
            default -> "reserved syndrome 0x" + Integer.toHexString(syndrome);
        };
    }
}

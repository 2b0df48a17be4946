package org.nvmf4j.roce.wire;

/** Arithmetic on packet and message sequence numbers: 24 bits, in a circle. Values are 0 to 2^24 − 1. */
public final class Psn {
    /** All bits of a sequence number. */
    public static final int MASK = 0xFF_FFFF;

    private Psn() {}

    /** The number {@code distance} further on; a negative distance goes back. */
    public static int add(int psn, int distance) {
        return psn + distance & MASK;
    }

    /** How far {@code a} is ahead of {@code b} by the shorter way, −2^23 to 2^23 − 1; negative when it is behind. */
    public static int diff(int a, int b) {
        return (a - b) << 8 >> 8;
    }

    /** Whether {@code a} comes before {@code b}. */
    public static boolean isBefore(int a, int b) {
        return diff(a, b) < 0;
    }

    /** Whether {@code a} comes after {@code b}. */
    public static boolean isAfter(int a, int b) {
        return diff(a, b) > 0;
    }

    /** Sequence numbers that a message takes: one a packet, and one for an empty message. */
    public static int packets(long messageBytes, int pathMtuBytes) {
        return messageBytes == 0 ? 1 : (int) ((messageBytes + pathMtuBytes - 1) / pathMtuBytes);
    }
}

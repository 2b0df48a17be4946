package org.nvmf4j.roce.cm;

/** The 5-bit codes in which IBTA counts time: 4.096 µs · 2<sup>code</sup>. */
final class CmTimeout {
    /** Transport timers outside of 17 ms to 4.3 s would load the network or never notice a dead peer. */
    private static final int MIN_ACK_CODE = 12;

    private static final int MAX_ACK_CODE = 20;

    /** Longest patience that an MRA can ask for: 69 s, which is what Linux asks for. */
    private static final int MAX_SERVICE_CODE = 24;

    private CmTimeout() {}

    static long nanos(int code) {
        return 4096L << code;
    }

    /** Transport timer for a code that the peer or the user named. */
    static long ackTimeoutNanos(int code) {
        return nanos(Math.clamp(code, MIN_ACK_CODE, MAX_ACK_CODE));
    }

    static long serviceNanos(int code) {
        return nanos(Math.min(code, MAX_SERVICE_CODE));
    }
}

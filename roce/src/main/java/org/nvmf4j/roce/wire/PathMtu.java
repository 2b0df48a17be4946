package org.nvmf4j.roce.wire;

/** Path MTUs: the most payload bytes in a packet (256 to 4096), and the codes (1 to 5) that CM messages carry. */
public final class PathMtu {
    public static final int MIN_BYTES = 256;
    public static final int MAX_BYTES = 4096;

    /** What Linux takes off a network device's MTU for the headers from IP to ICRC. */
    private static final int HEADER_ALLOWANCE_BYTES = 80;

    private PathMtu() {}

    /** Whether this is one of the five path MTUs. */
    public static boolean isValidBytes(int bytes) {
        return bytes >= MIN_BYTES && bytes <= MAX_BYTES && Integer.bitCount(bytes) == 1;
    }

    /** Whether this is one of the five codes. */
    public static boolean isValidCode(int code) {
        return code >= 1 && code <= 5;
    }

    /** Bytes of a code from 1 to 5. */
    public static int bytes(int code) {
        if (!isValidCode(code)) {
            throw new IllegalArgumentException("path MTU code must be 1 to 5, not " + code);
        }
        return 128 << code;
    }

    /** Code of a path MTU of 256, 512, 1024, 2048 or 4096 bytes. */
    public static int code(int bytes) {
        if (!isValidBytes(bytes)) {
            throw new IllegalArgumentException("path MTU must be 256, 512, 1024, 2048 or 4096, not " + bytes);
        }
        return Integer.numberOfTrailingZeros(bytes) - 7;
    }

    /**
     * The largest path MTU that packets of a network device can carry, as the Linux software device has it (1500 gives 1024, 4200
     * and more give 4096); 0 if the device MTU is too small for any.
     *
     * @param linkMtuBytes largest IP packet of the device
     */
    public static int ofLinkMtu(int linkMtuBytes) {
        int room = linkMtuBytes - HEADER_ALLOWANCE_BYTES;
        return room < MIN_BYTES ? 0 : Math.min(Integer.highestOneBit(room), MAX_BYTES);
    }
}

package org.nvmf4j.roce.wire;

/**
 * BTH opcodes, and a table of what each means: which headers it has, its place in a message, and whether it may carry payload.
 *
 * <p>The table is indexed by the opcode byte; an opcode that is not listed here has flags 0. IBTA volume 1, table 38.
 */
public final class Opcode {
    public static final int RC_SEND_FIRST = 0x00;
    public static final int RC_SEND_MIDDLE = 0x01;
    public static final int RC_SEND_LAST = 0x02;
    public static final int RC_SEND_LAST_WITH_IMMEDIATE = 0x03;
    public static final int RC_SEND_ONLY = 0x04;
    public static final int RC_SEND_ONLY_WITH_IMMEDIATE = 0x05;
    public static final int RC_WRITE_FIRST = 0x06;
    public static final int RC_WRITE_MIDDLE = 0x07;
    public static final int RC_WRITE_LAST = 0x08;
    public static final int RC_WRITE_LAST_WITH_IMMEDIATE = 0x09;
    public static final int RC_WRITE_ONLY = 0x0A;
    public static final int RC_WRITE_ONLY_WITH_IMMEDIATE = 0x0B;
    public static final int RC_READ_REQUEST = 0x0C;
    public static final int RC_READ_RESPONSE_FIRST = 0x0D;
    public static final int RC_READ_RESPONSE_MIDDLE = 0x0E;
    public static final int RC_READ_RESPONSE_LAST = 0x0F;
    public static final int RC_READ_RESPONSE_ONLY = 0x10;
    /** ACK, NAK and RNR NAK: the AETH says which. */
    public static final int RC_ACKNOWLEDGE = 0x11;

    public static final int RC_ATOMIC_ACKNOWLEDGE = 0x12;
    public static final int RC_COMPARE_SWAP = 0x13;
    public static final int RC_FETCH_ADD = 0x14;
    public static final int RC_SEND_LAST_WITH_INVALIDATE = 0x16;
    public static final int RC_SEND_ONLY_WITH_INVALIDATE = 0x17;
    public static final int UD_SEND_ONLY = 0x64;
    public static final int UD_SEND_ONLY_WITH_IMMEDIATE = 0x65;
    /** Congestion notification packet: 16 reserved bytes behind the BTH. */
    public static final int CNP = 0x81;

    /** Transport of an opcode: its top three bits. */
    public static final int TRANSPORT_RC = 0;

    public static final int TRANSPORT_UD = 3;
    public static final int TRANSPORT_CNP = 4;

    /** First packet of a message of several. */
    public static final int FIRST = 1;
    /** Neither the first nor the last packet of its message. */
    public static final int MIDDLE = 1 << 1;
    /** Last packet of a message of several. */
    public static final int LAST = 1 << 2;
    /** The only packet of its message. */
    public static final int ONLY = 1 << 3;

    public static final int SEND = 1 << 4;
    public static final int WRITE = 1 << 5;
    public static final int READ_REQUEST = 1 << 6;
    public static final int READ_RESPONSE = 1 << 7;
    public static final int ACKNOWLEDGE = 1 << 8;
    public static final int ATOMIC = 1 << 9;

    public static final int HAS_RETH = 1 << 10;
    public static final int HAS_AETH = 1 << 11;
    public static final int HAS_IMMDT = 1 << 12;
    public static final int HAS_IETH = 1 << 13;
    public static final int HAS_DETH = 1 << 14;
    public static final int HAS_ATOMIC_ETH = 1 << 15;
    public static final int HAS_ATOMIC_ACK_ETH = 1 << 16;
    /** May carry payload. */
    public static final int HAS_PAYLOAD = 1 << 17;
    /** Comes from a requester, as against a responder. */
    public static final int REQUEST = 1 << 18;
    /** Consumes a receive at its end. */
    public static final int CONSUMES_RECEIVE = 1 << 19;

    /** Begins a message. */
    public static final int STARTS_MESSAGE = FIRST | ONLY;
    /** Ends a message. */
    public static final int ENDS_MESSAGE = LAST | ONLY;

    private static final int CNP_RESERVED_BYTES = 16;

    private static final int[] FLAGS = new int[256];
    private static final byte[] HEADER_BYTES = new byte[256];
    private static final String[] NAMES = new String[256];

    static {
        int send = SEND | REQUEST | HAS_PAYLOAD;
        int write = WRITE | REQUEST | HAS_PAYLOAD;
        int response = READ_RESPONSE | HAS_PAYLOAD;
        define(RC_SEND_FIRST, "SEND First", send | FIRST);
        define(RC_SEND_MIDDLE, "SEND Middle", send | MIDDLE);
        define(RC_SEND_LAST, "SEND Last", send | LAST | CONSUMES_RECEIVE);
        define(RC_SEND_LAST_WITH_IMMEDIATE, "SEND Last with Immediate", send | LAST | HAS_IMMDT | CONSUMES_RECEIVE);
        define(RC_SEND_ONLY, "SEND Only", send | ONLY | CONSUMES_RECEIVE);
        define(RC_SEND_ONLY_WITH_IMMEDIATE, "SEND Only with Immediate", send | ONLY | HAS_IMMDT | CONSUMES_RECEIVE);
        define(RC_SEND_LAST_WITH_INVALIDATE, "SEND Last with Invalidate", send | LAST | HAS_IETH | CONSUMES_RECEIVE);
        define(RC_SEND_ONLY_WITH_INVALIDATE, "SEND Only with Invalidate", send | ONLY | HAS_IETH | CONSUMES_RECEIVE);
        define(RC_WRITE_FIRST, "RDMA WRITE First", write | FIRST | HAS_RETH);
        define(RC_WRITE_MIDDLE, "RDMA WRITE Middle", write | MIDDLE);
        define(RC_WRITE_LAST, "RDMA WRITE Last", write | LAST);
        define(
                RC_WRITE_LAST_WITH_IMMEDIATE,
                "RDMA WRITE Last with Immediate",
                write | LAST | HAS_IMMDT | CONSUMES_RECEIVE);
        define(RC_WRITE_ONLY, "RDMA WRITE Only", write | ONLY | HAS_RETH);
        define(
                RC_WRITE_ONLY_WITH_IMMEDIATE,
                "RDMA WRITE Only with Immediate",
                write | ONLY | HAS_RETH | HAS_IMMDT | CONSUMES_RECEIVE);
        define(RC_READ_REQUEST, "RDMA READ Request", READ_REQUEST | REQUEST | ONLY | HAS_RETH);
        define(RC_READ_RESPONSE_FIRST, "RDMA READ Response First", response | FIRST | HAS_AETH);
        define(RC_READ_RESPONSE_MIDDLE, "RDMA READ Response Middle", response | MIDDLE);
        define(RC_READ_RESPONSE_LAST, "RDMA READ Response Last", response | LAST | HAS_AETH);
        define(RC_READ_RESPONSE_ONLY, "RDMA READ Response Only", response | ONLY | HAS_AETH);
        define(RC_ACKNOWLEDGE, "Acknowledge", ACKNOWLEDGE | ONLY | HAS_AETH);
        define(
                RC_ATOMIC_ACKNOWLEDGE,
                "Atomic Acknowledge",
                ACKNOWLEDGE | ATOMIC | ONLY | HAS_AETH | HAS_ATOMIC_ACK_ETH);
        define(RC_COMPARE_SWAP, "Compare Swap", ATOMIC | REQUEST | ONLY | HAS_ATOMIC_ETH);
        define(RC_FETCH_ADD, "Fetch Add", ATOMIC | REQUEST | ONLY | HAS_ATOMIC_ETH);
        define(UD_SEND_ONLY, "UD SEND Only", send | ONLY | HAS_DETH | CONSUMES_RECEIVE);
        define(
                UD_SEND_ONLY_WITH_IMMEDIATE,
                "UD SEND Only with Immediate",
                send | ONLY | HAS_DETH | HAS_IMMDT | CONSUMES_RECEIVE);
        define(CNP, "CNP", ONLY);
        HEADER_BYTES[CNP] = (byte) (HEADER_BYTES[CNP] + CNP_RESERVED_BYTES);
    }

    private Opcode() {}

    private static void define(int opcode, String name, int flags) {
        FLAGS[opcode] = flags;
        NAMES[opcode] = name;
        HEADER_BYTES[opcode] = (byte) (firstExtensionEnd(flags)
                + bytesIf(flags, HAS_IMMDT, ImmDt.LENGTH)
                + bytesIf(flags, HAS_IETH, Ieth.LENGTH)
                + bytesIf(flags, HAS_ATOMIC_ACK_ETH, AtomicAckEth.LENGTH));
    }

    private static int firstExtensionEnd(int flags) {
        return Bth.LENGTH
                + bytesIf(flags, HAS_RETH, Reth.LENGTH)
                + bytesIf(flags, HAS_AETH, Aeth.LENGTH)
                + bytesIf(flags, HAS_DETH, Deth.LENGTH)
                + bytesIf(flags, HAS_ATOMIC_ETH, AtomicEth.LENGTH);
    }

    private static int bytesIf(int flags, int flag, int bytes) {
        return (flags & flag) != 0 ? bytes : 0;
    }

    /** What an opcode means, as flags of this class; 0 if it is unknown. Never throws: only the low byte counts. */
    public static int flags(int opcode) {
        return FLAGS[opcode & 0xFF];
    }

    /** Whether the opcode is one of this class. */
    public static boolean isKnown(int opcode) {
        return FLAGS[opcode & 0xFF] != 0;
    }

    /** Transport of any opcode, known or not: 0 to 7. */
    public static int transport(int opcode) {
        return opcode >>> 5 & 7;
    }

    /** Bytes of BTH and extension headers, which is the offset of the payload; 0 if the opcode is unknown. */
    public static int headerBytes(int opcode) {
        return HEADER_BYTES[opcode & 0xFF];
    }

    /**
     * Offset, from the BTH, of the second extension header (ImmDt, IETH or AtomicAckETH) of an opcode that has one. The first one
     * (RETH, AETH, DETH or AtomicETH) is always at {@link Bth#LENGTH}.
     */
    public static int secondExtensionOffset(int opcode) {
        return firstExtensionEnd(FLAGS[opcode & 0xFF]);
    }

    /** The opcode in words. */
    public static String name(int opcode) {
        String name = NAMES[opcode & 0xFF];
        return name != null ? name : "opcode 0x" + Integer.toHexString(opcode & 0xFF);
    }
}

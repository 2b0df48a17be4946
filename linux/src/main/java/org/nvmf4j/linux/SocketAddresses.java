package org.nvmf4j.linux;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** The kernel's {@code sockaddr_in} and {@code sockaddr_in6} in native memory. */
public final class SocketAddresses {
    static final int AF_INET = 2;
    static final int AF_INET6 = 10;
    /** Room for either, aligned to 8 bytes. */
    public static final int SLOT_BYTES = 32;

    private static final int IPV4_BYTES = 16;
    private static final int IPV6_BYTES = 28;
    private static final long PORT = 2;
    private static final long IPV4_ADDRESS = 4;
    private static final long IPV6_FLOW = 4;
    private static final long IPV6_ADDRESS = 8;
    private static final long IPV6_SCOPE = 24;
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT;
    private static final ValueLayout.OfShort BIG_SHORT = SHORT.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final ValueLayout.OfInt BIG_INT = INT.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfLong BIG_LONG = ValueLayout.JAVA_LONG.withOrder(ByteOrder.BIG_ENDIAN);

    private SocketAddresses() {}

    static int length(boolean ipv4) {
        return ipv4 ? IPV4_BYTES : IPV6_BYTES;
    }

    public static void write(MemorySegment memory, long at, UdpPeer peer) {
        memory.set(BIG_SHORT, at + PORT, (short) peer.port());
        if (peer.isIpv4()) {
            memory.set(SHORT, at, (short) AF_INET);
            memory.set(BIG_INT, at + IPV4_ADDRESS, (int) peer.addressLow());
        } else {
            memory.set(SHORT, at, (short) AF_INET6);
            memory.set(INT, at + IPV6_FLOW, 0);
            memory.set(BIG_LONG, at + IPV6_ADDRESS, peer.addressHigh());
            memory.set(BIG_LONG, at + IPV6_ADDRESS + 8, peer.addressLow());
            memory.set(INT, at + IPV6_SCOPE, peer.scopeId());
        }
    }

    /** The address of either kind that is there; 0.0.0.0 where nothing but 0 is. */
    public static UdpPeer read(MemorySegment memory, long at) {
        boolean ipv4 = memory.get(SHORT, at) != AF_INET6;
        return UdpPeer.of(high(memory, at, ipv4), low(memory, at, ipv4), port(memory, at), scopeId(memory, at, ipv4));
    }

    static long high(MemorySegment memory, long at, boolean ipv4) {
        return ipv4 ? 0 : memory.get(BIG_LONG, at + IPV6_ADDRESS);
    }

    static long low(MemorySegment memory, long at, boolean ipv4) {
        return ipv4
                ? UdpPeer.IPV4_PREFIX | (memory.get(BIG_INT, at + IPV4_ADDRESS) & 0xffff_ffffL)
                : memory.get(BIG_LONG, at + IPV6_ADDRESS + 8);
    }

    static int port(MemorySegment memory, long at) {
        return memory.get(BIG_SHORT, at + PORT) & 0xffff;
    }

    static int scopeId(MemorySegment memory, long at, boolean ipv4) {
        return ipv4 ? 0 : memory.get(INT, at + IPV6_SCOPE);
    }
}

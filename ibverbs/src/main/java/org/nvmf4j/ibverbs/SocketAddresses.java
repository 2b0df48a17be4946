package org.nvmf4j.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteOrder;

/** {@code struct sockaddr_in} and {@code sockaddr_in6}. */
final class SocketAddresses {
    private static final short AF_INET = 2;
    private static final short AF_INET6 = 10;
    private static final int BYTES = 28;
    private static final int PORT = 2;
    private static final int ADDRESS4 = 4;
    private static final int ADDRESS6 = 8;
    private static final int SCOPE6 = 24;
    private static final ValueLayout.OfShort NETWORK_SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private SocketAddresses() {}

    static MemorySegment of(Arena arena, InetAddress address, int port) {
        MemorySegment memory = arena.allocate(BYTES, 8);
        boolean four = address instanceof Inet4Address;
        memory.set(ValueLayout.JAVA_SHORT, 0, four ? AF_INET : AF_INET6);
        memory.set(NETWORK_SHORT, PORT, (short) port);
        MemorySegment.copy(
                address.getAddress(), 0, memory, ValueLayout.JAVA_BYTE, four ? ADDRESS4 : ADDRESS6, four ? 4 : 16);
        if (address instanceof Inet6Address six) {
            memory.set(ValueLayout.JAVA_INT, SCOPE6, six.getScopeId());
        }
        return memory;
    }

    /** The address at a place in the library's memory; the wildcard if there is none. */
    static InetSocketAddress at(long place) {
        int port = RdmaCore.MEMORY.get(NETWORK_SHORT, place + PORT) & 0xffff;
        boolean six = RdmaCore.MEMORY.get(ValueLayout.JAVA_SHORT, place) == AF_INET6;
        byte[] bytes = RdmaCore.bytesAt(place + (six ? ADDRESS6 : ADDRESS4), six ? 16 : 4);
        try {
            InetAddress address = six
                    ? Inet6Address.getByAddress(null, bytes, RdmaCore.intAt(place + SCOPE6))
                    : InetAddress.getByAddress(bytes);
            return new InetSocketAddress(address, port);
        } catch (UnknownHostException e) {
            throw new IllegalStateException(e); // the lengths are right
        }
    }
}

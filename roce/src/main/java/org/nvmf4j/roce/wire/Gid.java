package org.nvmf4j.roce.wire;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.UnknownHostException;

/** GIDs of RoCEv2, which are IP addresses: 16 bytes, IPv4 as {@code ::ffff:a.b.c.d}. */
final class Gid {
    static final int LENGTH = 16;

    private Gid() {}

    static InetAddress get(MemorySegment m, long offset) {
        return address(m.asSlice(offset, LENGTH).toArray(ValueLayout.JAVA_BYTE));
    }

    static void put(MemorySegment m, long offset, InetAddress address) {
        byte[] bytes = address.getAddress();
        if (bytes.length != LENGTH) {
            BigEndian.putShort(m, offset + 10, 0xFFFF);
        }
        MemorySegment.copy(bytes, 0, m, ValueLayout.JAVA_BYTE, offset + LENGTH - bytes.length, bytes.length);
    }

    /** An address from 4 or 16 bytes. */
    static InetAddress address(byte[] bytes) {
        try {
            return InetAddress.getByAddress(bytes);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException("an IP address has 4 or 16 bytes, not " + bytes.length, e);
        }
    }
}

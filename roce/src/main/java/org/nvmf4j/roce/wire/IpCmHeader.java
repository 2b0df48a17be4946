package org.nvmf4j.roce.wire;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * What RDMA CM puts in front of the private data of a REQ: addresses and port of the connecting side, and the service ID that stands for
 * the port. 36 bytes; IBTA annex A11.
 *
 * @param sourcePort 0 to 65535
 */
public record IpCmHeader(int sourcePort, InetAddress source, InetAddress destination) {
    /** Bytes of the header. */
    public static final int LENGTH = 36;

    /** Service IDs of the RDMA port space TCP: this and the port. */
    private static final long TCP_PORT_SPACE = 0x0106_0000L;

    private static final int SOURCE = 4;
    private static final int DESTINATION = 20;

    /** The service ID of a port. */
    public static long serviceId(int port) {
        return TCP_PORT_SPACE | port;
    }

    /** The port of a service ID, or −1 if it is not of the port space TCP. */
    public static int port(long serviceId) {
        return (serviceId & ~0xFFFFL) == TCP_PORT_SPACE ? (int) serviceId & 0xFFFF : -1;
    }

    /** Reads the header in front of a REQ's private data, or gives null if it is none of version 0 with IPv4 or IPv6. */
    public static @Nullable IpCmHeader parse(byte[] privateData) {
        if (privateData.length < LENGTH || privateData[0] != 0) {
            return null;
        }
        int version = privateData[1] >>> 4 & 0xF;
        if (version != 4 && version != 6) {
            return null;
        }
        int skip = version == 4 ? 12 : 0;
        MemorySegment m = MemorySegment.ofArray(privateData);
        return new IpCmHeader(
                BigEndian.getShort(m, 2),
                Gid.address(Arrays.copyOfRange(privateData, SOURCE + skip, DESTINATION)),
                Gid.address(Arrays.copyOfRange(privateData, DESTINATION + skip, LENGTH)));
    }

    /** This header with the user's private data behind it. */
    public byte[] prependTo(byte[] userData) {
        byte[] result = new byte[LENGTH + userData.length];
        MemorySegment m = MemorySegment.ofArray(result);
        BigEndian.putByte(m, 1, source instanceof Inet4Address ? 0x40 : 0x60);
        BigEndian.putShort(m, 2, sourcePort);
        put(m, DESTINATION, source);
        put(m, LENGTH, destination);
        MemorySegment.copy(userData, 0, m, ValueLayout.JAVA_BYTE, LENGTH, userData.length);
        return result;
    }

    private static void put(MemorySegment m, long end, InetAddress address) {
        byte[] bytes = address.getAddress();
        MemorySegment.copy(bytes, 0, m, ValueLayout.JAVA_BYTE, end - bytes.length, bytes.length);
    }
}

package org.nvmf4j.roce.wire;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32;

/**
 * Computes and checks the invariant CRC (ICRC) of the packets from one IP address to another.
 *
 * <p>The ICRC is CRC-32 over the IP header, the UDP header and the packet, with the fields that a router may change set to ones
 * (IBTA annex A17). It covers the IPv4 identification and the don't-fragment bit, which must be set in every packet; so a sender must
 * know the identification that its packet will have, and a receiver behind a socket, which never sees it, solves for it: see {@link
 * #check}.
 *
 * <p>An ICRC is an {@code int} that goes to the wire in little-endian order: {@link #put} and {@link #get}. Data is passed as
 * buffer, position and length; the buffer's byte order does not matter, direct buffers are much faster, and a buffer is left {@linkplain
 * ByteBuffer#clear cleared}. Nothing is allocated per packet. Confined to one thread.
 */
public final class Icrc {
    /** {@link #check}: the packet is damaged, or is not from and to these addresses. */
    public static final int BAD = -1;

    private static final ValueLayout.OfInt WIRE = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle INT = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle SHORT = MethodHandles.byteBufferViewVarHandle(short[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle WIRE_BUFFER =
            MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

    /** Ones that stand in for the local route header. */
    private static final int LRH_BYTES = 8;

    private static final int UDP_BYTES = 8;
    private static final int IPV4_BYTES = 20;
    private static final int IPV6_BYTES = 40;
    private static final int IPV4_TOTAL_LENGTH = LRH_BYTES + 2;
    private static final int IPV4_ID = LRH_BYTES + 4;
    private static final int IPV6_PAYLOAD_LENGTH = LRH_BYTES + 4;
    private static final int PROTOCOL_UDP = 17;
    private static final byte[] PADDING = new byte[4];

    /** IPv4: bytes from the identification to the BTH. */
    private static final int IPV4_ID_TO_BTH = IPV4_BYTES - 4 + UDP_BYTES;

    private final CRC32 crc = new CRC32();
    private final boolean ipv4;
    private final int udp;
    /** Everything up to the end of the BTH, masked. */
    private final ByteBuffer prefix;

    /** @throws IllegalArgumentException unless both addresses are IPv4 or both IPv6 */
    public Icrc(InetAddress source, InetAddress destination) {
        this(source.getAddress(), destination.getAddress());
    }

    /** Like the other constructor, from addresses of 4 or 16 bytes. */
    public Icrc(byte[] source, byte[] destination) {
        if (source.length != destination.length || (source.length != 4 && source.length != 16)) {
            throw new IllegalArgumentException("source and destination must both be IPv4 or both IPv6 addresses");
        }
        ipv4 = source.length == 4;
        udp = LRH_BYTES + (ipv4 ? IPV4_BYTES : IPV6_BYTES);
        prefix = ByteBuffer.allocateDirect(udp + UDP_BYTES + Bth.LENGTH).order(ByteOrder.BIG_ENDIAN);
        prefix.putLong(-1L);
        if (ipv4) {
            prefix.putInt(0x45FF_0000)
                    .putInt(0x4000)
                    .putShort((short) (0xFF00 | PROTOCOL_UDP))
                    .putShort((short) -1);
        } else {
            prefix.putInt(0x6FFF_FFFF)
                    .putShort((short) 0)
                    .put((byte) PROTOCOL_UDP)
                    .put((byte) -1);
        }
        prefix.put(source).put(destination);
        prefix.putShort((short) 0)
                .putShort((short) RocePacket.UDP_PORT)
                .putShort((short) 0)
                .putShort((short) -1);
    }

    /** Changes the addresses to others of the same family, in place. */
    public void setAddresses(byte[] source, byte[] destination) {
        int bytes = ipv4 ? 4 : 16;
        if (source.length != bytes || destination.length != bytes) {
            throw new IllegalArgumentException("the addresses of a flow cannot change between IPv4 and IPv6");
        }
        prefix.put(udp - 2 * bytes, source).put(udp - bytes, destination);
    }

    /** Whether the addresses are IPv4, so that identifications matter. */
    public boolean isIpv4() {
        return ipv4;
    }

    /**
     * Begins with a packet's headers; {@link #update}, {@link #pad} and {@link #finish} follow.
     *
     * @param sourcePort UDP source port
     * @param ipv4Id identification that the packet will have: 0, or its index among the segments of one GSO send; ignored with IPv6
     * @param packetBytes of the whole UDP payload, ICRC included
     * @param headers holds the BTH at {@code position}, and anything of the packet that follows
     * @param bytes from {@code position} on, at least {@link Bth#LENGTH}
     */
    public void begin(int sourcePort, int ipv4Id, int packetBytes, ByteBuffer headers, int position, int bytes) {
        int udpBytes = UDP_BYTES + packetBytes;
        if (ipv4) {
            SHORT.set(prefix, IPV4_TOTAL_LENGTH, (short) (IPV4_BYTES + udpBytes));
            SHORT.set(prefix, IPV4_ID, (short) ipv4Id);
        } else {
            SHORT.set(prefix, IPV6_PAYLOAD_LENGTH, (short) udpBytes);
        }
        SHORT.set(prefix, udp, (short) sourcePort);
        SHORT.set(prefix, udp + 4, (short) udpBytes);
        int bth = udp + UDP_BYTES;
        headers.clear();
        INT.set(prefix, bth, (int) INT.get(headers, position));
        INT.set(prefix, bth + 4, (int) INT.get(headers, position + 4) | 0xFF00_0000);
        INT.set(prefix, bth + 8, (int) INT.get(headers, position + 8));
        crc.reset();
        prefix.clear();
        crc.update(prefix);
        update(headers, position + Bth.LENGTH, bytes - Bth.LENGTH);
    }

    /** Goes on with more of the packet. */
    public void update(ByteBuffer data, int position, int bytes) {
        if (bytes != 0) {
            data.limit(position + bytes).position(position);
            crc.update(data);
            data.clear();
        }
    }

    /** Goes on with 0 to 3 zero bytes. */
    public void pad(int padCount) {
        if (padCount != 0) {
            crc.update(PADDING, 0, padCount);
        }
    }

    /** The ICRC of what came since {@link #begin}. */
    public int finish() {
        return (int) crc.getValue();
    }

    /** The ICRC of a packet that lies in one piece; see {@link #begin}. {@code bytes} does not count the ICRC. */
    public int compute(int sourcePort, int ipv4Id, ByteBuffer packet, int position, int bytes) {
        begin(sourcePort, ipv4Id, bytes + RocePacket.ICRC_BYTES, packet, position, bytes);
        return finish();
    }

    /** Checks a received packet whose IPv4 identification is likeliest 0; see the other {@code check}. */
    public int check(int sourcePort, ByteBuffer packet, int position, int bytes) {
        return check(sourcePort, 0, packet, position, bytes);
    }

    /**
     * Checks a received packet whose IPv4 identification is unknown.
     *
     * <p>With IPv4 the check solves for the one identification that makes the ICRC right: the difference between the ICRC with
     * the expected identification and the one received is taken back to the place of the identification, where only 16 of its 32
     * bits may be set. So 16 bits remain as a check; where the expectation is met, and with IPv6, the whole ICRC is compared.
     *
     * @param expectedId the likeliest identification: 0, or the packet's index among datagrams that the kernel joined
     * @param bytes of the whole UDP payload, ICRC included
     * @return the identification, 0 to 65535 (0 with IPv6), or {@link #BAD}
     */
    public int check(int sourcePort, int expectedId, ByteBuffer packet, int position, int bytes) {
        if (bytes < RocePacket.MIN_BYTES || (bytes & 3) != 0) {
            return BAD;
        }
        int covered = bytes - RocePacket.ICRC_BYTES;
        packet.clear();
        int wire = (int) WIRE_BUFFER.get(packet, position + covered);
        int difference = compute(sourcePort, expectedId, packet, position, covered) ^ wire;
        if (difference == 0) {
            return ipv4 ? expectedId : 0;
        }
        int distance = IPV4_ID_TO_BTH + covered;
        if (!ipv4 || distance >= IcrcBackshift.MAX_BYTES) {
            return BAD;
        }
        int id = IcrcBackshift.back(difference, distance);
        return id >>> 16 != 0 ? BAD : Short.toUnsignedInt(Short.reverseBytes((short) id)) ^ expectedId;
    }

    /** Writes an ICRC behind a packet. */
    public static void put(MemorySegment m, long offset, int icrc) {
        m.set(WIRE, offset, icrc);
    }

    /** Reads the ICRC behind a packet. */
    public static int get(MemorySegment m, long offset) {
        return m.get(WIRE, offset);
    }
}

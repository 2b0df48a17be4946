package org.nvmf4j.roce.wire;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.util.Arrays;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/**
 * A RoCEv2 packet inside a captured frame, with the IP and UDP headers around it. Every length is checked when it is found. Immutable, but
 * for the bytes of the frame.
 */
public final class RoceFrame {
    private static final int IPV4_MIN_BYTES = 20;
    private static final int IPV6_BYTES = 40;
    private static final int UDP_BYTES = 8;
    private static final int PROTOCOL_UDP = 17;
    private static final int MORE_FRAGMENTS_OR_OFFSET = 0x3FFF;

    private final PcapFrame frame;
    private final MemorySegment segment;
    private final int ipOffset;
    private final int udpOffset;
    private final int packetBytes;

    private RoceFrame(PcapFrame frame, int ipOffset, int udpOffset, int packetBytes) {
        this.frame = frame;
        this.segment = MemorySegment.ofArray(frame.bytes());
        this.ipOffset = ipOffset;
        this.udpOffset = udpOffset;
        this.packetBytes = packetBytes;
    }

    /**
     * Finds the RoCEv2 packet in a frame.
     *
     * @return null if it is not an unfragmented UDP datagram to port 4791 in IPv4 or IPv6, or is malformed below the BTH
     */
    public static @Nullable RoceFrame find(PcapFrame frame) {
        byte[] b = frame.bytes();
        int ip = LinkLayer.ipOffset(frame.linkType(), b);
        if (ip < 0 || ip >= b.length) {
            return null;
        }
        return switch (b[ip] >>> 4 & 0xF) {
            case 4 -> findIpv4(frame, b, ip);
            case 6 -> findIpv6(frame, b, ip);
            default -> null;
        };
    }

    private static @Nullable RoceFrame findIpv4(PcapFrame frame, byte[] b, int ip) {
        int headerBytes = (b[ip] & 0xF) * 4;
        if (headerBytes < IPV4_MIN_BYTES || headerBytes > b.length - ip) {
            return null;
        }
        int totalBytes = be16(b, ip + 2);
        if (b[ip + 9] != PROTOCOL_UDP
                || (be16(b, ip + 6) & MORE_FRAGMENTS_OR_OFFSET) != 0
                || totalBytes < headerBytes) {
            return null;
        }
        return findUdp(frame, b, ip, ip + headerBytes, totalBytes - headerBytes);
    }

    private static @Nullable RoceFrame findIpv6(PcapFrame frame, byte[] b, int ip) {
        if (IPV6_BYTES > b.length - ip || b[ip + 6] != PROTOCOL_UDP) {
            return null;
        }
        return findUdp(frame, b, ip, ip + IPV6_BYTES, be16(b, ip + 4));
    }

    private static @Nullable RoceFrame findUdp(PcapFrame frame, byte[] b, int ip, int udp, int ipPayloadBytes) {
        if (UDP_BYTES > b.length - udp || be16(b, udp + 2) != RocePacket.UDP_PORT) {
            return null;
        }
        int udpBytes = be16(b, udp + 4);
        if (udpBytes < UDP_BYTES || udpBytes > ipPayloadBytes) {
            return null;
        }
        return new RoceFrame(frame, ip, udp, udpBytes - UDP_BYTES);
    }

    private static int be16(byte[] b, int at) {
        return (b[at] & 0xFF) << 8 | (b[at + 1] & 0xFF);
    }

    /** The frame that it was found in. */
    public PcapFrame frame() {
        return frame;
    }

    /** The bytes of the frame. */
    public MemorySegment segment() {
        return segment;
    }

    /** Where the BTH is in {@link #segment}. */
    public int packetOffset() {
        return udpOffset + UDP_BYTES;
    }

    /** Bytes of the UDP payload as its header says, ICRC included; all of them are there only if {@link #isComplete}. */
    public int packetBytes() {
        return packetBytes;
    }

    /** Whether the whole packet was captured. */
    public boolean isComplete() {
        return packetBytes <= frame.bytes().length - packetOffset();
    }

    public boolean isIpv4() {
        return segment.get(ValueLayout.JAVA_BYTE, ipOffset) >>> 4 == 4;
    }

    public InetAddress source() {
        return isIpv4() ? address(12, 4) : address(8, 16);
    }

    public InetAddress destination() {
        return isIpv4() ? address(16, 4) : address(24, 16);
    }

    private InetAddress address(int at, int bytes) {
        int from = ipOffset + at;
        return Gid.address(Arrays.copyOfRange(frame.bytes(), from, from + bytes));
    }

    /** UDP source port. */
    public int sourcePort() {
        return be16(frame.bytes(), udpOffset);
    }

    /** IPv4 identification, 0 with IPv6. */
    public int ipv4Id() {
        return isIpv4() ? be16(frame.bytes(), ipOffset + 4) : 0;
    }

    /** Whether IPv4's don't-fragment bit is set; always so with IPv6. */
    public boolean dontFragment() {
        return !isIpv4() || (be16(frame.bytes(), ipOffset + 6) & 0x4000) != 0;
    }

    /** The ICRC that the packet carries; it must be complete and have one. */
    public int icrc() {
        return Icrc.get(segment, packetOffset() + packetBytes - RocePacket.ICRC_BYTES);
    }

    /** Whether the packet is complete and carries the ICRC that its bytes and both headers ask for. */
    public boolean hasValidIcrc() {
        return isComplete() && packetBytes >= RocePacket.MIN_BYTES && icrc() == computeIcrc();
    }

    private int computeIcrc() {
        int end = packetOffset() + packetBytes - RocePacket.ICRC_BYTES;
        byte[] masked = Arrays.copyOfRange(frame.bytes(), ipOffset, end);
        if (isIpv4()) {
            masked[1] = -1;
            Arrays.fill(masked, 8, 9, (byte) -1);
            Arrays.fill(masked, 10, 12, (byte) -1);
        } else {
            masked[0] |= 0x0F;
            Arrays.fill(masked, 1, 4, (byte) -1);
            masked[7] = -1;
        }
        int udp = udpOffset - ipOffset;
        Arrays.fill(masked, udp + 6, udp + UDP_BYTES, (byte) -1);
        masked[udp + UDP_BYTES + 4] = -1;
        CRC32 crc = new CRC32();
        crc.update(new byte[] {-1, -1, -1, -1, -1, -1, -1, -1});
        crc.update(masked);
        return (int) crc.getValue();
    }
}

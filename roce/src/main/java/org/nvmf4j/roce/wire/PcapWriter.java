package org.nvmf4j.roce.wire;

import java.io.Closeable;
import java.io.Flushable;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Writes RoCEv2 packets into a capture file (pcap with nanoseconds, Ethernet), with the headers around them that the network would show.
 *
 * <p>Ethernet addresses are made up from the IP addresses, TTL is 64, UDP checksums are 0; none of that is part of an ICRC. Each packet is
 * one write to the stream: a buffered stream is faster. Thread-safe.
 */
public final class PcapWriter implements Closeable, Flushable {
    private static final int RECORD_BYTES = 16;
    private static final int ETHERNET_BYTES = 14;
    private static final int UDP_BYTES = 8;
    private static final int IPV4_BYTES = 20;
    private static final int IPV6_BYTES = 40;
    private static final int MAX_PACKET_BYTES = 0xFFFF - UDP_BYTES - IPV4_BYTES;
    private static final int SNAP_BYTES = 1 << 18;
    private static final int IP = RECORD_BYTES + ETHERNET_BYTES;
    private static final int TTL = 64;
    private static final int PROTOCOL_UDP = 17;

    private final OutputStream out;
    private final byte[] bytes = new byte[IP + IPV6_BYTES + UDP_BYTES + MAX_PACKET_BYTES];
    private final ByteBuffer record = ByteBuffer.wrap(bytes);

    /** Writes the beginning of the file. */
    public PcapWriter(OutputStream out) throws IOException {
        this.out = out;
        ByteBuffer header = ByteBuffer.allocate(24).order(ByteOrder.LITTLE_ENDIAN);
        header.putInt(0xA1B23C4D).putShort((short) 2).putShort((short) 4).putLong(0);
        header.putInt(SNAP_BYTES).putInt(LinkLayer.ETHERNET);
        out.write(header.array());
    }

    /**
     * Writes one packet.
     *
     * @param epochNanos since 1970
     * @param source of 4 or 16 bytes, as is {@code destination}
     * @param ipv4Id identification, ignored with IPv6; don't-fragment is set
     * @param offset of the BTH
     * @param packetBytes of the UDP payload, ICRC included
     */
    public void write(
            long epochNanos,
            InetAddress source,
            int sourcePort,
            InetAddress destination,
            int ipv4Id,
            MemorySegment m,
            long offset,
            int packetBytes)
            throws IOException {
        write(epochNanos, source.getAddress(), sourcePort, destination.getAddress(), ipv4Id, m, offset, packetBytes);
    }

    /** Like the other method, with addresses of 4 or 16 bytes; allocates nothing. */
    public synchronized void write(
            long epochNanos,
            byte[] source,
            int sourcePort,
            byte[] destination,
            int ipv4Id,
            MemorySegment m,
            long offset,
            int packetBytes)
            throws IOException {
        if (packetBytes < 0 || packetBytes > MAX_PACKET_BYTES) {
            throw new IllegalArgumentException(
                    "a UDP payload is at most " + MAX_PACKET_BYTES + " bytes, not " + packetBytes);
        }
        boolean ipv4 = source.length == 4;
        int udp = IP + (ipv4 ? IPV4_BYTES : IPV6_BYTES);
        int end = udp + UDP_BYTES + packetBytes;
        record.clear();
        record.order(ByteOrder.LITTLE_ENDIAN);
        record.putInt((int) (epochNanos / 1_000_000_000L)).putInt((int) (epochNanos % 1_000_000_000L));
        record.putInt(end - RECORD_BYTES).putInt(end - RECORD_BYTES);
        record.order(ByteOrder.BIG_ENDIAN);
        putEthernetAddress(destination);
        putEthernetAddress(source);
        if (ipv4) {
            record.putShort((short) 0x0800);
            record.putInt(0x4500_0000 | (end - IP)).putShort((short) ipv4Id).putShort((short) 0x4000);
            record.putShort((short) (TTL << 8 | PROTOCOL_UDP)).putShort((short) 0);
            record.put(source).put(destination);
            record.putShort(IP + 10, (short) ipv4Checksum());
        } else {
            record.putShort((short) 0x86DD).putInt(0x6000_0000).putShort((short) (end - udp));
            record.put((byte) PROTOCOL_UDP).put((byte) TTL).put(source).put(destination);
        }
        record.putShort((short) sourcePort).putShort((short) RocePacket.UDP_PORT);
        record.putShort((short) (end - udp)).putShort((short) 0);
        MemorySegment.copy(m, ValueLayout.JAVA_BYTE, offset, bytes, udp + UDP_BYTES, packetBytes);
        out.write(bytes, 0, end);
    }

    /** A locally administered address that ends like the IP address. */
    private void putEthernetAddress(byte[] ip) {
        record.putShort((short) 0x0200).put(ip, ip.length - 4, 4);
    }

    private int ipv4Checksum() {
        int sum = 0;
        for (int at = IP; at < IP + IPV4_BYTES; at += 2) {
            sum += record.getShort(at) & 0xFFFF;
        }
        sum = (sum & 0xFFFF) + (sum >>> 16);
        return ~(sum + (sum >>> 16));
    }

    @Override
    public synchronized void flush() throws IOException {
        out.flush();
    }

    /** Closes the stream. */
    @Override
    public synchronized void close() throws IOException {
        out.close();
    }
}

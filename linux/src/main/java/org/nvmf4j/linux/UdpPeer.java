package org.nvmf4j.linux;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Address and port of a peer, in a form that compares without allocation: the 16 bytes of its IPv6 address (IPv4 as
 * {@code ::ffff:a.b.c.d}) as two big-endian halves. Immutable and thread-safe.
 *
 * <p>A {@link TransmitQueue} coalesces datagrams only for the same <em>object</em>, so a caller that wants two flows to
 * one address kept apart uses two.
 */
public final class UdpPeer {
    /** The upper 32 bits of {@link #addressLow} of an IPv4 address, with {@link #addressHigh} 0. */
    static final long IPV4_PREFIX = 0x0000_ffff_0000_0000L;

    private final long addressHigh;
    private final long addressLow;
    private final int port;
    private final int scopeId;
    private @Nullable InetSocketAddress socketAddress;

    private UdpPeer(long addressHigh, long addressLow, int port, int scopeId) {
        if (port < 0 || port > 0xffff) {
            throw new IllegalArgumentException("port " + port + " is not in 0 to 65535");
        }
        this.addressHigh = addressHigh;
        this.addressLow = addressLow;
        this.port = port;
        this.scopeId = scopeId;
    }

    /**
     * A peer by its raw address.
     *
     * @param addressHigh bytes 0 to 7 of the IPv6 or IPv4-mapped address, big-endian
     * @param addressLow bytes 8 to 15
     * @param port 0 to 65535
     * @param scopeId the interface index of a link-local IPv6 address, else 0
     */
    public static UdpPeer of(long addressHigh, long addressLow, int port, int scopeId) {
        return new UdpPeer(addressHigh, addressLow, port, scopeId);
    }

    /**
     * A peer by its Java address.
     *
     * @param address IPv4 or IPv6
     * @param port 0 to 65535
     */
    public static UdpPeer of(InetAddress address, int port) {
        byte[] bytes = address.getAddress();
        if (bytes.length == 4) {
            return new UdpPeer(0, IPV4_PREFIX | bigEndian(bytes, 0, 4), port, 0);
        }
        int scopeId = address instanceof Inet6Address six ? six.getScopeId() : 0;
        return new UdpPeer(bigEndian(bytes, 0, 8), bigEndian(bytes, 8, 8), port, scopeId);
    }

    /**
     * A peer by its Java socket address.
     *
     * @param address a resolved address
     * @throws IllegalArgumentException if it is not resolved
     */
    public static UdpPeer of(InetSocketAddress address) {
        InetAddress resolved = address.getAddress();
        if (resolved == null) {
            throw new IllegalArgumentException("the name " + address.getHostString() + " is not resolved");
        }
        return of(resolved, address.getPort());
    }

    private static long bigEndian(byte[] bytes, int from, int count) {
        long value = 0;
        for (int i = 0; i < count; i++) {
            value = value << 8 | (bytes[from + i] & 0xff);
        }
        return value;
    }

    /** Bytes 0 to 7 of the IPv6 or IPv4-mapped address, big-endian. */
    public long addressHigh() {
        return addressHigh;
    }

    /** Bytes 8 to 15 of the IPv6 or IPv4-mapped address, big-endian. */
    public long addressLow() {
        return addressLow;
    }

    /** 0 to 65535. */
    public int port() {
        return port;
    }

    /** The interface index of a link-local IPv6 address, else 0. */
    public int scopeId() {
        return scopeId;
    }

    /** True for an IPv4 (IPv4-mapped) address. */
    public boolean isIpv4() {
        return addressHigh == 0 && (addressLow & 0xffff_ffff_0000_0000L) == IPV4_PREFIX;
    }

    /** True if these are this peer's address and port; the scope is not compared. */
    public boolean matches(long otherHigh, long otherLow, int otherPort) {
        return addressLow == otherLow && addressHigh == otherHigh && port == otherPort;
    }

    /** The Java form, made once and kept. */
    public InetSocketAddress socketAddress() {
        InetSocketAddress known = socketAddress;
        if (known == null) {
            known = new InetSocketAddress(inetAddress(), port);
            socketAddress = known;
        }
        return known;
    }

    private InetAddress inetAddress() {
        try {
            if (isIpv4()) {
                return InetAddress.getByAddress(bytes(addressLow, 4));
            }
            byte[] all = new byte[16];
            System.arraycopy(bytes(addressHigh, 8), 0, all, 0, 8);
            System.arraycopy(bytes(addressLow, 8), 0, all, 8, 8);
            return scopeId == 0 ? InetAddress.getByAddress(all) : Inet6Address.getByAddress(null, all, scopeId);
        } catch (UnknownHostException e) {
            throw new IllegalStateException(e);
        }
    }

    private static byte[] bytes(long value, int count) {
        byte[] bytes = new byte[count];
        for (int i = 0; i < count; i++) {
            bytes[i] = (byte) (value >>> (8 * (count - 1 - i)));
        }
        return bytes;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof UdpPeer peer
                && matches(peer.addressHigh, peer.addressLow, peer.port)
                && scopeId == peer.scopeId;
    }

    @Override
    public int hashCode() {
        return Objects.hash(addressHigh, addressLow, port, scopeId);
    }

    /** For instance {@code 127.0.0.1:4791} or {@code [fe80::1%2]:4791}. */
    @Override
    public String toString() {
        String host = IpText.of(inetAddress());
        return isIpv4() ? host + ":" + port : "[" + host + "]:" + port;
    }
}

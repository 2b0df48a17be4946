package org.nvmf4j.linux;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.net.BindException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.channels.DatagramChannel;
import jdk.net.ExtendedSocketOptions;

/** A UDP socket by {@code java.nio}. */
final class PortableUdpSocket extends UdpSocket {
    private static final int SMALLEST_BUFFER_BYTES = 1 << 16;

    private final DatagramChannel channel;
    private final boolean ipv4;
    private final InetSocketAddress localAddress;
    private final int receiveBufferBytes;
    private final int sendBufferBytes;

    private PortableUdpSocket(DatagramChannel channel, InetAddress local) throws IOException {
        this.channel = channel;
        this.ipv4 = local instanceof Inet4Address;
        this.localAddress = new InetSocketAddress(local, channel.socket().getLocalPort());
        this.receiveBufferBytes = channel.getOption(StandardSocketOptions.SO_RCVBUF);
        this.sendBufferBytes = channel.getOption(StandardSocketOptions.SO_SNDBUF);
    }

    static PortableUdpSocket bind(InetAddress local, int port, UdpOptions options) throws IOException {
        DatagramChannel channel = NetworkRoutes.openChannel(local);
        try {
            channel.configureBlocking(false);
            setBuffer(channel, StandardSocketOptions.SO_RCVBUF, options.receiveBufferBytes());
            setBuffer(channel, StandardSocketOptions.SO_SNDBUF, options.sendBufferBytes());
            channel.setOption(ExtendedSocketOptions.IP_DONTFRAGMENT, true);
            channel.bind(new InetSocketAddress(local, port));
            return new PortableUdpSocket(channel, local);
        } catch (BindException e) {
            channel.close();
            throw UdpSockets.bindFailure(local, port, e);
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    /** Linux grants what it can; other systems refuse what is too much, so that less must be asked for. */
    private static void setBuffer(DatagramChannel channel, SocketOption<Integer> option, int bytes) throws IOException {
        for (int size = bytes; ; size /= 2) {
            try {
                channel.setOption(option, size);
                return;
            } catch (IOException e) {
                if (size <= SMALLEST_BUFFER_BYTES) {
                    throw e;
                }
            }
        }
    }

    DatagramChannel channel() {
        return channel;
    }

    boolean isIpv4() {
        return ipv4;
    }

    @Override
    public InetSocketAddress localAddress() {
        return localAddress;
    }

    @Override
    public String description() {
        return "portable UDP socket, one datagram a call, receive buffer " + receiveBufferBytes
                + " bytes, send buffer " + sendBufferBytes + " bytes"
                + (ipv4 ? "" : ", drops datagrams without a UDP checksum");
    }

    @Override
    public boolean isNative() {
        return false;
    }

    @Override
    public int maxSegments() {
        return 1;
    }

    @Override
    public boolean coalesces() {
        return false;
    }

    @Override
    public int receiveBufferBytes() {
        return receiveBufferBytes;
    }

    @Override
    public int sendBufferBytes() {
        return sendBufferBytes;
    }

    @Override
    public long receiveDrops() {
        return -1;
    }

    @Override
    public ReceiveBatch newReceiveBatch(Arena arena, int slots) {
        return new PortableReceiveBatch(this, arena, slots);
    }

    @Override
    public TransmitQueue newTransmitQueue(
            Arena arena, int maxMessages, int maxPieces, TransmitQueue.RefusalHandler refusals) {
        return new PortableTransmitQueue(this, arena, maxMessages, maxPieces, refusals);
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

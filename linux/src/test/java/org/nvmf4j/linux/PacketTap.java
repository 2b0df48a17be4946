package org.nvmf4j.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.NetworkInterface;
import java.nio.ByteOrder;
import java.util.Objects;

/** The IPv4 UDP packets to one port that arrive at an interface, by a packet socket. */
final class PacketTap implements AutoCloseable {
    private static final int AF_PACKET = 17;
    private static final int SOCK_DGRAM_NONBLOCK = 2 | 0x800;
    private static final short ETH_P_IP = 0x0800;
    private static final int SOCKADDR_LL_BYTES = 20;
    private static final int UDP_HEADER_BYTES = 8;
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private final MemorySegment errnoState = LibC.newErrnoState();
    private final MemorySegment packet = Arena.ofAuto().allocate(1 << 16, 8);
    private final MemorySegment control = Arena.ofAuto().allocate(256, 8);
    private final int port;
    private final int fd;

    private PacketTap(int fd, int port) {
        this.fd = fd;
        this.port = port;
    }

    static PacketTap open(String name, int port) throws Exception {
        MemorySegment state = LibC.newErrnoState();
        int fd = LibC.socket(state, AF_PACKET, SOCK_DGRAM_NONBLOCK, Short.toUnsignedInt(Short.reverseBytes(ETH_P_IP)));
        PacketTap tap = new PacketTap(fd, port);
        tap.control.set(ValueLayout.JAVA_SHORT, 0, (short) AF_PACKET);
        tap.control.set(SHORT, 2, ETH_P_IP);
        tap.control.set(
                ValueLayout.JAVA_INT,
                4,
                Objects.requireNonNull(NetworkInterface.getByName(name)).getIndex());
        int result = fd < 0 ? fd : LibC.bind(state, fd, tap.control.address(), SOCKADDR_LL_BYTES);
        if (result < 0) {
            throw new LinuxException("packet socket", -result);
        }
        return tap;
    }

    /** Takes the next packet, waiting for it. */
    void next() throws LinuxException {
        do {
            MessageHeaders.setName(control, 0, 0, 0);
            MessageHeaders.setControl(control, 0, 0, 0);
            MessageHeaders.setPiece(control, 8, packet.address(), packet.byteSize());
            MessageHeaders.setPieces(control, 0, control.address() + 8 * MessageHeaders.PIECE_BYTES, 1);
            int length = LibC.recvmsg(errnoState, fd, control.address(), 0);
            if (length < 0 && -length != SystemErrors.EAGAIN) {
                throw new LinuxException("recvmsg", -length);
            }
            if (length < 0) {
                packet.set(ValueLayout.JAVA_BYTE, 9, (byte) 0);
                Thread.onSpinWait();
            }
        } while (packet.get(ValueLayout.JAVA_BYTE, 9) != 17 || half(udp() + 2) != port);
    }

    private int udp() {
        return (packet.get(ValueLayout.JAVA_BYTE, 0) & 0xf) * 4;
    }

    private int half(int offset) {
        return packet.get(SHORT, offset) & 0xffff;
    }

    int identification() {
        return half(4);
    }

    int flags() {
        return half(6);
    }

    int payloadLength() {
        return half(udp() + 4) - UDP_HEADER_BYTES;
    }

    int payloadByte(int offset) {
        return packet.get(ValueLayout.JAVA_BYTE, udp() + UDP_HEADER_BYTES + offset) & 0xff;
    }

    @Override
    public void close() {
        LibC.close(errnoState, fd);
    }
}

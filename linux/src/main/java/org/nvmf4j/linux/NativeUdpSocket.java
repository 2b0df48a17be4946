package org.nvmf4j.linux;

import static org.nvmf4j.linux.SocketAddresses.AF_INET;
import static org.nvmf4j.linux.SocketAddresses.AF_INET6;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/** A UDP socket by system calls. */
final class NativeUdpSocket extends UdpSocket {
    /** The kernel's limit since 4.18; later kernels allow more. */
    private static final int MAX_SEGMENTS = 64;

    private static final int SOCK_DGRAM = 2;
    private static final int SOCK_NONBLOCK = 0x800;
    private static final int SOCK_CLOEXEC = 0x80000;
    private static final int SOL_SOCKET = 1;
    private static final int SO_SNDBUF = 7;
    private static final int SO_RCVBUF = 8;
    private static final int SO_REUSEPORT = 15;
    private static final int SO_SNDBUFFORCE = 32;
    private static final int SO_RCVBUFFORCE = 33;
    private static final int SO_ATTACH_REUSEPORT_CBPF = 51;
    private static final int SO_MEMINFO = 55;
    private static final int MEMINFO_BYTES = 36;
    private static final int MEMINFO_DROPS = 32;
    private static final int IPPROTO_IP = 0;
    private static final int IP_MTU_DISCOVER = 10;
    private static final int IPPROTO_IPV6 = 41;
    private static final int IPV6_MTU_DISCOVER = 23;
    private static final int IPV6_V6ONLY = 26;
    private static final int PMTUDISC_DO = 2;
    private static final int IPPROTO_UDP = 17;
    private static final int UDP_NO_CHECK6_RX = 102;
    private static final int UDP_SEGMENT = 103;
    private static final int UDP_GRO = 104;

    private final MemorySegment errnoState = LibC.newErrnoState();
    private final MemorySegment scratch = Arena.ofAuto().allocate(64, 8);
    private final boolean ipv4;
    private int fd;
    private int maxSegments = 1;
    private boolean coalesces;
    private int receiveBufferBytes;
    private int sendBufferBytes;
    private InetSocketAddress localAddress;

    private NativeUdpSocket(InetAddress local) throws LinuxException {
        ipv4 = local instanceof Inet4Address;
        localAddress = new InetSocketAddress(local, 0);
        fd = check(
                "socket",
                LibC.socket(errnoState, ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    }

    /**
     * Opens and binds a socket.
     *
     * @param joinGroup true to share the port with sockets that have {@link #allowGroup allowed} it
     */
    static NativeUdpSocket bind(InetAddress local, int port, boolean joinGroup, UdpOptions options) throws IOException {
        NativeUdpSocket socket = new NativeUdpSocket(local);
        try {
            socket.configure(options);
            if (joinGroup) {
                socket.allowGroup();
            }
            socket.bindTo(local, port);
        } catch (IOException | RuntimeException e) {
            socket.close();
            throw e;
        }
        return socket;
    }

    private void configure(UdpOptions options) throws LinuxException {
        if (ipv4) {
            // With a set don't-fragment bit and no connected peer the kernel writes identification 0.
            require("IP_MTU_DISCOVER", setOption(IPPROTO_IP, IP_MTU_DISCOVER, PMTUDISC_DO));
        } else {
            require("IPV6_V6ONLY", setOption(IPPROTO_IPV6, IPV6_V6ONLY, 1));
            require("IPV6_MTU_DISCOVER", setOption(IPPROTO_IPV6, IPV6_MTU_DISCOVER, PMTUDISC_DO));
            // Some senders leave the UDP checksum 0, which IPv6 sockets drop unless told otherwise.
            require("UDP_NO_CHECK6_RX", setOption(IPPROTO_UDP, UDP_NO_CHECK6_RX, 1));
        }
        receiveBufferBytes = bufferSize(SO_RCVBUF, SO_RCVBUFFORCE, options.receiveBufferBytes());
        sendBufferBytes = bufferSize(SO_SNDBUF, SO_SNDBUFFORCE, options.sendBufferBytes());
        if (options.segmentation() && setOption(IPPROTO_UDP, UDP_SEGMENT, 0) == 0) {
            maxSegments = MAX_SEGMENTS;
        }
        coalesces = options.coalescing() && setOption(IPPROTO_UDP, UDP_GRO, 1) == 0;
    }

    /** The forcing option needs privilege; the plain one grants at most the system's limit. */
    private int bufferSize(int option, int forcingOption, int bytes) throws LinuxException {
        if (setOption(SOL_SOCKET, forcingOption, bytes) < 0) {
            require("SO_RCVBUF or SO_SNDBUF", setOption(SOL_SOCKET, option, bytes));
        }
        scratch.set(ValueLayout.JAVA_INT, 8, 4);
        check(
                "getsockopt",
                LibC.getsockopt(errnoState, fd, SOL_SOCKET, option, scratch.address(), scratch.address() + 8));
        return scratch.get(ValueLayout.JAVA_INT, 0);
    }

    private void bindTo(InetAddress local, int port) throws IOException {
        SocketAddresses.write(scratch, 0, UdpPeer.of(local, port));
        int result = LibC.bind(errnoState, fd, scratch.address(), SocketAddresses.length(ipv4));
        if (result < 0) {
            throw UdpSockets.bindFailure(local, port, -result);
        }
        scratch.set(ValueLayout.JAVA_INT, 32, SocketAddresses.SLOT_BYTES);
        check("getsockname", LibC.getsockname(errnoState, fd, scratch.address(), scratch.address() + 32));
        localAddress = new InetSocketAddress(local, SocketAddresses.port(scratch, 0));
    }

    /** Lets sockets opened from now on by the same user share the port. */
    void allowGroup() throws LinuxException {
        require("SO_REUSEPORT", setOption(SOL_SOCKET, SO_REUSEPORT, 1));
    }

    /** Sets the rule by which the group that this socket is in shares its datagrams. */
    void steer(SteeringRule rule, int sockets) throws LinuxException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment program = SteeringProgram.assemble(arena, rule, sockets);
            require(
                    "SO_ATTACH_REUSEPORT_CBPF",
                    LibC.setsockopt(errnoState, fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, program.address(), (int)
                            program.byteSize()));
        }
    }

    private int setOption(int level, int option, int value) {
        scratch.set(ValueLayout.JAVA_INT, 0, value);
        return LibC.setsockopt(errnoState, fd, level, option, scratch.address(), 4);
    }

    private static void require(String option, int result) throws LinuxException {
        check("setsockopt " + option, result);
    }

    private static int check(String call, int result) throws LinuxException {
        if (result < 0) {
            throw new LinuxException(call, -result);
        }
        return result;
    }

    int fd() {
        return fd;
    }

    boolean isIpv4() {
        return ipv4;
    }

    /** The kernel cannot split messages on the way to some peer. */
    void giveUpSegmentation() {
        maxSegments = 1;
    }

    @Override
    public InetSocketAddress localAddress() {
        return localAddress;
    }

    @Override
    public String description() {
        return "native UDP socket, segmentation " + (maxSegments > 1 ? "up to " + maxSegments : "off")
                + ", coalescing " + (coalesces ? "on" : "off") + ", receive buffer " + receiveBufferBytes
                + " bytes, send buffer " + sendBufferBytes + " bytes";
    }

    @Override
    public boolean isNative() {
        return true;
    }

    @Override
    public int maxSegments() {
        return maxSegments;
    }

    @Override
    public boolean coalesces() {
        return coalesces;
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
        scratch.set(ValueLayout.JAVA_INT, 48, MEMINFO_BYTES);
        int result = LibC.getsockopt(errnoState, fd, SOL_SOCKET, SO_MEMINFO, scratch.address(), scratch.address() + 48);
        return result < 0 || scratch.get(ValueLayout.JAVA_INT, 48) < MEMINFO_BYTES
                ? -1
                : scratch.get(ValueLayout.JAVA_INT, MEMINFO_DROPS) & 0xffff_ffffL;
    }

    @Override
    public ReceiveBatch newReceiveBatch(Arena arena, int slots) {
        return new NativeReceiveBatch(this, arena, slots);
    }

    @Override
    public TransmitQueue newTransmitQueue(
            Arena arena, int maxMessages, int maxPieces, TransmitQueue.RefusalHandler refusals) {
        return new NativeTransmitQueue(this, arena, maxMessages, maxPieces, refusals);
    }

    @Override
    public void close() {
        if (fd >= 0) {
            LibC.close(errnoState, fd);
            fd = -1;
        }
    }
}

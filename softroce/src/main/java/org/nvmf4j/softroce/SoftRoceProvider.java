package org.nvmf4j.softroce;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.linux.NetworkRoutes;
import org.nvmf4j.linux.UdpOptions;
import org.nvmf4j.linux.UdpSocket;
import org.nvmf4j.roce.cm.CmOptions;
import org.nvmf4j.verbs.AddressText;
import org.nvmf4j.verbs.DeviceDescription;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.ProviderDevice;
import org.nvmf4j.verbs.spi.VerbsProvider;

/**
 * RoCEv2 in software, on UDP sockets: no RDMA hardware, no driver. Byte-compatible with RDMA NICs and with Linux rdma_rxe.
 *
 * <p>A device is one local address with UDP port 4791. If only a peer is named, the local address is found from it: for a peer at a
 * loopback address or another IPv4 address of this machine a free address of 127/8; for a peer at an IPv6 address of this machine
 * another one of them (there is only one loopback address, {@code ::1}, so the machine needs a second address); for others the source
 * address of the route. The path MTU is the largest that the interface behind the address carries (and the peer's interface, if that is
 * of this machine); {@link DeviceOptions#pathMtuBytes} lowers it. A device asks peers for its path MTU and rejects those who ask for more, with reason 26:
 * the packets of a connection that it accepted would be lost.
 *
 * <p>With faults, each packet is sent by itself, which is slower.
 */
public final class SoftRoceProvider implements VerbsProvider {
    static final String NAME = "softroce";

    private static final System.Logger LOG = System.getLogger(SoftRoceProvider.class.getName());
    /** Above what serves any address worse, below hardware. */
    private static final int RANK = 0;
    /** Smaller receive buffers lose packets of one busy connection already. */
    private static final int SMALL_RECEIVE_BUFFER_BYTES = 2 << 20;

    private final UdpOptions udpOptions;
    private final UnaryOperator<CmOptions> connectionOptions;

    /** For {@link java.util.ServiceLoader}. */
    public SoftRoceProvider() {
        this(UdpOptions.defaults(), UnaryOperator.identity());
    }

    /**
     * With sockets of another kind, or other patience.
     *
     * @param connectionOptions changes what connection management has by default
     */
    SoftRoceProvider(UdpOptions udpOptions, UnaryOperator<CmOptions> connectionOptions) {
        this.udpOptions = udpOptions;
        this.connectionOptions = connectionOptions;
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public int rank() {
        return RANK;
    }

    /** One for each address of this machine. */
    @Override
    public List<DeviceDescription> describeDevices() {
        try {
            return NetworkRoutes.localAddresses().stream()
                    .map(local -> new DeviceDescription(deviceName(local), facts(local)))
                    .toList();
        } catch (IOException e) {
            return List.of();
        }
    }

    private static Map<String, String> facts(InetAddress local) {
        try {
            return Map.of("path MTU", Integer.toString(DeviceSockets.linkPathMtuBytes(local, null)));
        } catch (IOException e) {
            return Map.of("use", "not possible: " + e.getMessage());
        }
    }

    @Override
    public boolean canOpen(DeviceOptions options) {
        String wanted = options.deviceName();
        return (options.localAddress() != null || options.remoteAddress() != null)
                && (wanted == null || wanted.equals(deviceName(options)));
    }

    @Override
    public String deviceName(DeviceOptions options) {
        InetAddress local = options.localAddress();
        return local == null ? NAME : deviceName(local);
    }

    static String deviceName(InetAddress local) {
        return NAME + "-" + AddressText.of(local);
    }

    @Override
    public ProviderDevice open(DeviceOptions options) throws VerbsException {
        checkDeviceName(options);
        SecureRandom random = new SecureRandom();
        // Only a packet that is a message of its own can be repeated or reordered without a wrong IPv4 identification.
        UdpOptions udp = options.faults() == null ? udpOptions : udpOptions.withSegmentation(false);
        List<UdpSocket> sockets = DeviceSockets.open(options, udp, random);
        PacketTap tap = null;
        try {
            UdpSocket first = sockets.getFirst();
            warnOfSmallBuffer(first);
            InetAddress local = first.localAddress().getAddress();
            tap = openTap(options.pcapFile(), local);
            int linkPathMtu = DeviceSockets.linkPathMtuBytes(local, options.remoteAddress());
            LOG.log(System.Logger.Level.DEBUG, DeviceSockets.describe(local, options.remoteAddress(), linkPathMtu));
            return new SoftRoceDevice(options, connectionOptions, sockets, linkPathMtu, tap, random);
        } catch (IOException | RuntimeException e) {
            sockets.forEach(UdpSocket::close);
            if (tap != null) {
                tap.close();
            }
            throw e instanceof VerbsException v
                    ? v
                    : new VerbsException("cannot open a software RoCE device: " + e.getMessage(), e);
        }
    }

    private static void warnOfSmallBuffer(UdpSocket socket) {
        LOG.log(System.Logger.Level.DEBUG, "{0}: {1}", socket.localAddress(), socket.description());
        if (socket.receiveBufferBytes() < SMALL_RECEIVE_BUFFER_BYTES) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "the system grants UDP receive buffers of {0} bytes only, so that transfers are slower than they could be:"
                            + " sysctl -w net.core.rmem_max=16777216",
                    Integer.toString(socket.receiveBufferBytes()));
        }
    }

    private static @Nullable PacketTap openTap(@Nullable Path file, InetAddress local) throws VerbsException {
        if (file == null) {
            return null;
        }
        try {
            return PacketTap.open(file, local);
        } catch (IOException e) {
            throw new VerbsException("cannot write the pcap file " + file + ": " + reason(e), e);
        }
    }

    private static String reason(IOException e) {
        return switch (e) {
            case NoSuchFileException _ -> "there is no such folder";
            case AccessDeniedException _ -> "permission denied";
            case FileSystemException file when file.getReason() != null -> file.getReason();
            default -> String.valueOf(e.getMessage());
        };
    }
}

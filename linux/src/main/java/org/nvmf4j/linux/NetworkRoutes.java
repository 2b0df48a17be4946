package org.nvmf4j.linux;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.UnknownHostException;
import java.nio.channels.DatagramChannel;
import java.util.List;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;

/** Which local address and interface the way to a peer starts from. For set-up, not for a data plane. Thread-safe. */
public final class NetworkRoutes {
    /** Any port will do: connecting a UDP socket only looks up the route. */
    private static final int DISCARD_PORT = 9;

    private NetworkRoutes() {}

    /**
     * The local address that packets to a destination come from.
     *
     * @throws IOException if there is no route; the message names the destination
     */
    public static InetAddress sourceAddressFor(InetAddress destination) throws IOException {
        try (DatagramChannel channel = openChannel(destination)) {
            channel.connect(new InetSocketAddress(destination, DISCARD_PORT));
            return ((InetSocketAddress) channel.getLocalAddress()).getAddress();
        } catch (IOException e) {
            throw new IOException("no route to " + IpText.of(destination) + ": " + e.getMessage(), e);
        }
    }

    /** A channel for addresses of that IP version. */
    static DatagramChannel openChannel(InetAddress address) throws IOException {
        if (address instanceof Inet4Address) {
            return DatagramChannel.open(StandardProtocolFamily.INET);
        }
        try {
            return DatagramChannel.open(StandardProtocolFamily.INET6);
        } catch (UnsupportedOperationException e) {
            throw new IOException(
                    "no IPv6 for " + address.getHostAddress()
                            + ": the system has none, or java.net.preferIPv4Stack is set; use an IPv4 address",
                    e);
        }
    }

    /**
     * The interface that a local address belongs to; every address of 127/8 belongs to the loopback interface.
     *
     * @throws IOException if no interface has the address; the message names those that there are
     */
    public static NetworkInterface interfaceOf(InetAddress local) throws IOException {
        NetworkInterface exact = NetworkInterface.getByInetAddress(local);
        if (exact != null) {
            return exact;
        }
        if (local.isLoopbackAddress()) {
            for (NetworkInterface candidate :
                    NetworkInterface.networkInterfaces().toList()) {
                if (candidate.isLoopback()) {
                    return candidate;
                }
            }
        }
        throw new IOException("no interface of this machine has the address " + IpText.of(local) + ": use one of "
                + describeLocalAddresses());
    }

    /**
     * An address of 127/8 that is as good as surely free, for a device or a test that needs one of its own. 127.0.0.0/16 is left to
     * those who choose by hand, and so are addresses that end in 0 or 255: the JDK refuses to bind the latter.
     */
    public static InetAddress randomLoopbackAddress(RandomGenerator random) {
        byte[] address = {127, (byte) random.nextInt(1, 255), (byte) random.nextInt(256), (byte) random.nextInt(1, 255)
        };
        try {
            return InetAddress.getByAddress(address);
        } catch (UnknownHostException e) {
            throw new AssertionError("four bytes are an address", e);
        }
    }

    /**
     * Whether a socket on this machine receives what is sent to a UDP port at one of its addresses; true also where that cannot be found
     * out. It takes as long as reading {@code /proc/net/udp}.
     */
    public static boolean hasUdpReceiver(InetAddress local, int port) {
        return PortOwner.mayHaveOwner(local, port);
    }

    /** The MTU in bytes of the interface that a local address belongs to. */
    public static int mtuBytes(InetAddress local) throws IOException {
        return interfaceOf(local).getMTU();
    }

    /** The addresses of all interfaces that are up, in the interfaces' order. */
    public static List<InetAddress> localAddresses() throws SocketException {
        return NetworkInterface.networkInterfaces()
                .filter(NetworkRoutes::isUp)
                .flatMap(NetworkInterface::inetAddresses)
                .toList();
    }

    private static boolean isUp(NetworkInterface candidate) {
        try {
            return candidate.isUp();
        } catch (SocketException e) {
            return false;
        }
    }

    static String describeLocalAddresses() {
        try {
            return localAddresses().stream().map(IpText::of).collect(Collectors.joining(", "));
        } catch (SocketException e) {
            return "this machine's addresses";
        }
    }
}

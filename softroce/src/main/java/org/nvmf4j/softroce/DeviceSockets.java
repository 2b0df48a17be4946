package org.nvmf4j.softroce;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.linux.NetworkRoutes;
import org.nvmf4j.linux.PortTakenException;
import org.nvmf4j.linux.SteeringRule;
import org.nvmf4j.linux.UdpOptions;
import org.nvmf4j.linux.UdpSocket;
import org.nvmf4j.roce.wire.PathMtu;
import org.nvmf4j.roce.wire.RocePacket;
import org.nvmf4j.verbs.AddressText;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.VerbsException;

/**
 * Opens a device's sockets: chooses its local address, binds UDP port 4791 there once for each vector, and has the kernel steer by
 * the low bits of the destination queue pair number. Connection management (queue pair 1) arrives at vector 0.
 */
final class DeviceSockets {
    /** The word that ends with the BTH's destination queue pair number. */
    private static final int QPN_WORD_OFFSET = 4;

    private static final int QPN_MASK = 0xFF_FFFF;
    static final int CONNECTION_QPN = 1;
    private static final SteeringRule RULE = new SteeringRule(QPN_WORD_OFFSET, QPN_MASK, CONNECTION_QPN);

    private DeviceSockets() {}

    /** The sockets in the order of their vectors: as many as asked for, or one where the system cannot steer. */
    static List<UdpSocket> open(DeviceOptions options, UdpOptions udp, RandomGenerator random) throws VerbsException {
        int group = ceilingPowerOfTwo(options.vectors());
        try {
            List<UdpSocket> opened = openGroup(options, group, udp, random);
            List<UdpSocket> used = opened.subList(0, Math.min(opened.size(), options.vectors()));
            // No queue pair number leads to the rest; the kernel leaves the order of the others as it is.
            for (int i = opened.size() - 1; i >= used.size(); i--) {
                opened.get(i).close();
            }
            return List.copyOf(used);
        } catch (VerbsException e) {
            throw e;
        } catch (PortTakenException e) {
            throw new VerbsException(String.valueOf(e.getMessage()), e);
        } catch (IOException | UnsupportedOperationException e) {
            throw new VerbsException("cannot open a software RoCE device: " + e.getMessage(), e);
        }
    }

    private static List<UdpSocket> openGroup(DeviceOptions options, int group, UdpOptions udp, RandomGenerator random)
            throws IOException {
        InetAddress local = options.localAddress();
        InetAddress remote = options.remoteAddress();
        if (local == null && remote != null) {
            local = addressTowards(remote);
        } else if (local == null) {
            throw new VerbsException(
                    "a software RoCE device needs its local address, or a peer's address to find it from");
        }
        if (local == null) {
            return UdpSocket.openGroupOnFreeLoopbackAddress(RocePacket.UDP_PORT, group, RULE, udp, random);
        }
        check(local, remote);
        return UdpSocket.openGroup(local, RocePacket.UDP_PORT, group, RULE, udp);
    }

    private static void check(InetAddress local, @Nullable InetAddress remote) throws VerbsException {
        if (local.isAnyLocalAddress() || local.isMulticastAddress()) {
            throw new VerbsException("a software RoCE device needs one address of this machine, not "
                    + AddressText.of(local) + ": packets are bound to their addresses");
        }
        if (remote != null && local instanceof Inet4Address != remote instanceof Inet4Address) {
            throw new VerbsException("the local address " + AddressText.of(local) + " and the peer "
                    + AddressText.of(remote) + " are not of one IP version");
        }
    }

    /** The local address to reach a peer from, or null for a free loopback address. */
    private static @Nullable InetAddress addressTowards(InetAddress remote) throws IOException {
        if (remote instanceof Inet4Address && (remote.isLoopbackAddress() || isOfThisMachine(remote))) {
            return null;
        }
        if (isOfThisMachine(remote)) {
            return otherAddress(remote);
        }
        return NetworkRoutes.sourceAddressFor(remote);
    }

    /** Whether a peer can only be on this machine, and is not: no need to wait for an answer. */
    static boolean isDeadEnd(InetAddress remote) {
        try {
            return (remote.isLoopbackAddress() || isOfThisMachine(remote))
                    && !NetworkRoutes.hasUdpReceiver(remote, RocePacket.UDP_PORT);
        } catch (IOException e) {
            return false;
        }
    }

    private static boolean isOfThisMachine(InetAddress address) throws IOException {
        return NetworkRoutes.localAddresses().contains(address);
    }

    /** An IPv6 address of this machine besides the peer's own, which is taken by the peer's port. */
    private static InetAddress otherAddress(InetAddress remote) throws IOException {
        List<InetAddress> usable = new ArrayList<>();
        for (InetAddress candidate : NetworkRoutes.localAddresses()) {
            if (candidate instanceof Inet6Address && !candidate.isLinkLocalAddress() && !candidate.equals(remote)) {
                usable.add(candidate);
            }
        }
        usable.sort((a, b) -> Boolean.compare(b.isLoopbackAddress(), a.isLoopbackAddress()));
        if (usable.isEmpty()) {
            throw new VerbsException(
                    "the peer " + AddressText.of(remote) + " is this machine's only IPv6 address, and two"
                            + " devices cannot share one: add another ('ip -6 addr add fd00::2/128 dev lo'), or use 127.0.0.1");
        }
        return usable.getFirst();
    }

    /**
     * The largest path MTU that the interface behind an address carries. If the peer's address is of this machine too, the peer may
     * go by its own interface's MTU, though nothing travels there.
     */
    static int linkPathMtuBytes(InetAddress local, @Nullable InetAddress remote) throws VerbsException {
        try {
            int linkMtu = NetworkRoutes.mtuBytes(local);
            if (remote != null && isOfThisMachine(remote)) {
                linkMtu = Math.min(linkMtu, NetworkRoutes.mtuBytes(remote));
            }
            int pathMtu = PathMtu.ofLinkMtu(linkMtu);
            if (pathMtu == 0) {
                throw new VerbsException("the interface of " + AddressText.of(local) + " has an MTU of " + linkMtu
                        + " bytes, too small for RoCE: it takes at least 336");
            }
            return pathMtu;
        } catch (VerbsException e) {
            throw e;
        } catch (IOException e) {
            throw new VerbsException(String.valueOf(e.getMessage()), e);
        }
    }

    /** One line for the user: which address, and what that means. */
    static String describe(InetAddress local, @Nullable InetAddress remote, int pathMtuBytes) throws IOException {
        String own = "software RoCE device at " + AddressText.of(local) + ", interface "
                + NetworkRoutes.interfaceOf(local).getName() + ", path MTU up to " + pathMtuBytes;
        return remote instanceof Inet6Address && remote.isLoopbackAddress()
                ? own + " (towards " + AddressText.of(remote) + ", which is the target's alone, from another address"
                        + " of this machine)"
                : own;
    }

    static int ceilingPowerOfTwo(int n) {
        return n == 1 ? 1 : Integer.highestOneBit(n - 1) << 1;
    }
}

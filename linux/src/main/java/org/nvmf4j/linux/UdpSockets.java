package org.nvmf4j.linux;

import java.io.IOException;
import java.net.BindException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.random.RandomGenerator;
import org.nvmf4j.linux.UdpOptions.Implementation;

/** Opens sockets: chooses the implementation, forms groups, and says why a bind failed. */
final class UdpSockets {
    private static final int MAX_GROUP = 256;
    /** With 2^24 addresses to choose from, so many taken in a row are not chance. */
    private static final int LOOPBACK_ATTEMPTS = 32;

    private UdpSockets() {}

    static UdpSocket open(InetAddress local, int port, UdpOptions options) throws IOException {
        requirePort(port);
        return usesNative(options)
                ? NativeUdpSocket.bind(local, port, false, options)
                : PortableUdpSocket.bind(local, port, options);
    }

    static List<UdpSocket> openGroup(InetAddress local, int port, int count, SteeringRule rule, UdpOptions options)
            throws IOException {
        requirePort(port);
        if (count < 1 || count > MAX_GROUP || Integer.bitCount(count) != 1) {
            throw new IllegalArgumentException(
                    "a group of " + count + " sockets: it must be a power of two, at most " + MAX_GROUP);
        }
        if (count == 1 || !usesNative(options)) {
            return List.of(open(local, port, options));
        }
        List<UdpSocket> group = new ArrayList<>(count);
        try {
            // The first binds alone, so that a port that another process's group has counts as taken.
            NativeUdpSocket leader = NativeUdpSocket.bind(local, port, false, options);
            group.add(leader);
            leader.allowGroup();
            int chosenPort = leader.localAddress().getPort();
            for (int i = 1; i < count; i++) {
                group.add(NativeUdpSocket.bind(local, chosenPort, true, options));
            }
            leader.steer(rule, count);
            return List.copyOf(group);
        } catch (IOException | RuntimeException e) {
            group.forEach(UdpSocket::close);
            throw e;
        }
    }

    static List<UdpSocket> openGroupOnFreeLoopbackAddress(
            int port, int count, SteeringRule rule, UdpOptions options, RandomGenerator random) throws IOException {
        for (int attempt = 1; ; attempt++) {
            try {
                return openGroup(NetworkRoutes.randomLoopbackAddress(random), port, count, rule, options);
            } catch (PortTakenException e) {
                if (attempt == LOOPBACK_ATTEMPTS) {
                    throw e;
                }
            }
        }
    }

    private static void requirePort(int port) {
        if (port < 0 || port > 0xffff) {
            throw new IllegalArgumentException("port " + port + " is not in 0 to 65535");
        }
    }

    private static boolean usesNative(UdpOptions options) {
        return switch (wanted(options)) {
            case PORTABLE -> false;
            case AUTOMATIC -> NativeAccess.isAvailable();
            case NATIVE -> {
                if (!NativeAccess.isAvailable()) {
                    throw new UnsupportedOperationException(NativeAccess.problem());
                }
                yield true;
            }
        };
    }

    private static Implementation wanted(UdpOptions options) {
        String property = System.getProperty(UdpOptions.IMPLEMENTATION_PROPERTY);
        if (property == null || options.implementation() != Implementation.AUTOMATIC) {
            return options.implementation();
        }
        try {
            return Implementation.valueOf(property.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "system property " + UdpOptions.IMPLEMENTATION_PROPERTY + " is '" + property
                            + "': it must be automatic, native or portable",
                    e);
        }
    }

    /** What to throw when the kernel refused a bind. */
    static LinuxException bindFailure(InetAddress local, int port, int errno) {
        return switch (errno) {
            case SystemErrors.EADDRINUSE -> new PortTakenException(local, port);
            case SystemErrors.EADDRNOTAVAIL ->
                new LinuxException(
                        "bind",
                        errno,
                        "no interface of this machine has the address " + IpText.of(local) + ": use one of "
                                + NetworkRoutes.describeLocalAddresses());
            default ->
                new LinuxException(
                        "bind",
                        errno,
                        "cannot bind UDP port " + port + " on " + IpText.of(local) + ": "
                                + SystemErrors.describe(errno));
        };
    }

    /** The same for the JDK's exception, which has words instead of a number. */
    static IOException bindFailure(InetAddress local, int port, BindException failure) {
        String words = String.valueOf(failure.getMessage());
        if (words.contains("already in use")) {
            return bindFailure(local, port, SystemErrors.EADDRINUSE);
        }
        if (local instanceof Inet4Address && local.isLoopbackAddress() && local.getAddress()[3] == (byte) 255) {
            return new IOException("the JDK's sockets refuse " + IpText.of(local)
                    + ": use an address of 127/8 that does not end in 255");
        }
        if (words.contains("Cannot assign") || words.contains("Can't assign")) {
            return bindFailure(local, port, SystemErrors.EADDRNOTAVAIL);
        }
        return new IOException("cannot bind UDP port " + port + " on " + IpText.of(local) + ": " + words, failure);
    }
}

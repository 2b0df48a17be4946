package org.nvmf4j.verbs.spi;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.function.Predicate;
import org.nvmf4j.verbs.AddressText;
import org.nvmf4j.verbs.VerbsException;

/** What a device checks before it does something for its user. */
public final class DeviceChecks {
    private static final int MAX_PORT = 0xffff;

    private DeviceChecks() {}

    /**
     * Checks that a device is open.
     *
     * @throws VerbsException if it is not
     */
    public static void open(boolean closed) throws VerbsException {
        if (closed) {
            throw new VerbsException("the device is closed");
        }
    }

    /**
     * The device's own queue pair behind one that a user gave.
     *
     * @param isOurs whether a queue pair of this provider is of this device
     * @throws IllegalArgumentException if it is of another device
     */
    public static <Q extends ProviderQueuePair> Q own(
            ProviderQueuePair queuePair, Class<Q> type, Predicate<? super Q> isOurs) {
        if (!type.isInstance(queuePair) || !isOurs.test(type.cast(queuePair))) {
            throw new IllegalArgumentException("the queue pair is of another device");
        }
        return type.cast(queuePair);
    }

    /**
     * The IP address to connect to.
     *
     * @throws VerbsException if it is a name that nobody resolved
     */
    public static InetAddress remoteAddress(InetSocketAddress remote) throws VerbsException {
        InetAddress address = remote.getAddress();
        if (address == null) {
            throw new VerbsException("cannot connect to " + remote.getHostString() + ": the name has no address");
        }
        return address;
    }

    /**
     * Checks the size of what one side says to the other.
     *
     * @throws IllegalArgumentException if the message has less room for it
     */
    public static void privateData(byte[] data, int mostBytes) {
        if (data.length > mostBytes) {
            throw new IllegalArgumentException(
                    "private data is at most " + mostBytes + " bytes here, not " + data.length);
        }
    }

    /**
     * Checks a port to listen on.
     *
     * @throws IllegalArgumentException if there is no such port
     */
    public static void listeningPort(int port) {
        if (port < 0 || port > MAX_PORT) {
            throw new IllegalArgumentException("a port is 0 to " + MAX_PORT + ", not " + port);
        }
    }

    /**
     * What to throw where somebody listens already.
     *
     * @param errno what the system said, or 0
     */
    public static VerbsException portTaken(InetAddress local, int port, int errno) {
        return new VerbsException(
                "port " + port + " of " + AddressText.of(local)
                        + " is taken by another listener: close it or take another port",
                errno);
    }
}

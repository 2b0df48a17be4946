package org.nvmf4j.verbs.loopback;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.AddressText;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.VerbsException;

/** The process's loopback devices by address: what a switch is to NICs. Thread-safe. */
final class LoopbackNetwork {
    private static final ConcurrentHashMap<InetAddress, LoopbackDevice> DEVICES = new ConcurrentHashMap<>();
    private static final int ADDRESS_TRIES = 1000;

    private LoopbackNetwork() {}

    static LoopbackDevice open(DeviceOptions options) throws VerbsException {
        InetAddress wanted = options.localAddress();
        if (wanted != null) {
            if (wanted.isAnyLocalAddress()) {
                throw new VerbsException("a loopback device has one address, not the wildcard " + AddressText.of(wanted)
                        + ": name one, 127.0.0.1 for example");
            }
            LoopbackDevice device = new LoopbackDevice(wanted, options);
            if (DEVICES.putIfAbsent(wanted, device) != null) {
                throw new VerbsException("another loopback device of this process has the address "
                        + AddressText.of(wanted) + ": close it or take another address");
            }
            return device;
        }
        InetAddress remote = options.remoteAddress();
        if (remote == null) {
            throw new VerbsException("a loopback device needs a local or a remote address");
        }
        for (int i = 0; i < ADDRESS_TRIES; i++) {
            InetAddress address = randomAddress();
            LoopbackDevice device = new LoopbackDevice(address, options);
            if (!address.equals(remote) && DEVICES.putIfAbsent(address, device) == null) {
                return device;
            }
        }
        throw new VerbsException("found no free 127.x.y.z address for a loopback device");
    }

    private static InetAddress randomAddress() throws VerbsException {
        int host = ThreadLocalRandom.current().nextInt(1 << 16, 0xff_ffff);
        byte[] address = {127, (byte) (host >> 16), (byte) (host >> 8), (byte) host};
        try {
            return InetAddress.getByAddress(address);
        } catch (UnknownHostException e) {
            throw new VerbsException("no IPv4 address of four bytes", e);
        }
    }

    static @Nullable LoopbackDevice find(InetAddress address) {
        return DEVICES.get(address);
    }

    static void remove(LoopbackDevice device) {
        DEVICES.remove(device.attributes().localAddress(), device);
    }
}

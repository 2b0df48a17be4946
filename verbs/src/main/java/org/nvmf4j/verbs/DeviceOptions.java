package org.nvmf4j.verbs;

import java.net.InetAddress;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Which device to open and how. At least one of the addresses is needed.
 *
 * @param localAddress the device's own address, or null to find it from {@code remoteAddress}
 * @param remoteAddress a peer that must be reachable, or null: where it is a loopback address and no local one is given, a software
 *     device takes a free loopback address; elsewhere the route's source address
 * @param vectors completion vectors wanted; a device may have fewer
 * @param pathMtuBytes largest path MTU to use (256, 512, 1024, 2048 or 4096), 0 for what the link carries
 * @param pcapFile where a software device writes every packet, or null
 * @param faults what a software device does to what it sends, or null
 * @param inlineUse for measurements: what is made of inline data
 * @param deviceName as {@link DeviceAttributes#name}, or null for whichever device has the address
 */
public record DeviceOptions(
        @Nullable InetAddress localAddress,
        @Nullable InetAddress remoteAddress,
        int vectors,
        int pathMtuBytes,
        @Nullable Path pcapFile,
        @Nullable FaultOptions faults,
        InlineUse inlineUse,
        @Nullable String deviceName) {
    public DeviceOptions {
        if (vectors < 1) {
            throw new IllegalArgumentException("a device needs at least one completion vector");
        }
        if (pathMtuBytes != 0 && (Integer.bitCount(pathMtuBytes) != 1 || pathMtuBytes < 256 || pathMtuBytes > 4096)) {
            throw new IllegalArgumentException("path MTU must be 256, 512, 1024, 2048 or 4096, not " + pathMtuBytes);
        }
    }

    /** A device at no address yet, with one vector and whatever else is usual. */
    public static DeviceOptions defaults() {
        return new DeviceOptions(null, null, 1, 0, null, null, InlineUse.WHERE_IT_FITS, null);
    }

    /** A device at a local address, as a target needs it. */
    public static DeviceOptions at(InetAddress localAddress) {
        return defaults().withLocalAddress(localAddress);
    }

    /** A device that reaches a peer, as a host needs it. */
    public static DeviceOptions towards(InetAddress remoteAddress) {
        return defaults().withRemoteAddress(remoteAddress);
    }

    public DeviceOptions withLocalAddress(@Nullable InetAddress localAddress) {
        return new DeviceOptions(
                localAddress, remoteAddress, vectors, pathMtuBytes, pcapFile, faults, inlineUse, deviceName);
    }

    public DeviceOptions withRemoteAddress(@Nullable InetAddress remoteAddress) {
        return new DeviceOptions(
                localAddress, remoteAddress, vectors, pathMtuBytes, pcapFile, faults, inlineUse, deviceName);
    }

    public DeviceOptions withVectors(int vectors) {
        return new DeviceOptions(
                localAddress, remoteAddress, vectors, pathMtuBytes, pcapFile, faults, inlineUse, deviceName);
    }

    public DeviceOptions withPathMtuBytes(int pathMtuBytes) {
        return new DeviceOptions(
                localAddress, remoteAddress, vectors, pathMtuBytes, pcapFile, faults, inlineUse, deviceName);
    }

    public DeviceOptions withPcapFile(@Nullable Path pcapFile) {
        return new DeviceOptions(
                localAddress, remoteAddress, vectors, pathMtuBytes, pcapFile, faults, inlineUse, deviceName);
    }

    public DeviceOptions withFaults(@Nullable FaultOptions faults) {
        return new DeviceOptions(
                localAddress, remoteAddress, vectors, pathMtuBytes, pcapFile, faults, inlineUse, deviceName);
    }

    public DeviceOptions withInlineUse(InlineUse inlineUse) {
        return new DeviceOptions(
                localAddress, remoteAddress, vectors, pathMtuBytes, pcapFile, faults, inlineUse, deviceName);
    }

    public DeviceOptions withDeviceName(@Nullable String deviceName) {
        return new DeviceOptions(
                localAddress, remoteAddress, vectors, pathMtuBytes, pcapFile, faults, inlineUse, deviceName);
    }
}

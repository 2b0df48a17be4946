package org.nvmf4j.pcie;

import java.util.List;

/**
 * A PCI function as found in sysfs.
 *
 * @param address where it sits
 * @param vendorId for instance 0x8086
 * @param deviceId given by the vendor
 * @param classCode base class, subclass and programming interface, for instance 0x010802 for an NVMe controller
 * @param kind what it is in the tree
 * @param hostBridge domain and root bus of the host bridge that it is behind, for instance {@code 0000:00}
 * @param upstreamBridges the bridges between it and the host bridge, nearest first; empty on a root bus
 * @param acs what its Access Control Services are set to
 */
public record PciFunction(
        PciAddress address,
        int vendorId,
        int deviceId,
        int classCode,
        Kind kind,
        String hostBridge,
        List<PciAddress> upstreamBridges,
        AcsControl acs) {
    /** What a function is in the tree. */
    public enum Kind {
        /** Class 0600: the host bridge's own function on the root bus. */
        HOST_BRIDGE,
        /** A port of the root complex, the top of a hierarchy. */
        ROOT_PORT,
        /** The port of a switch that points to the root. */
        SWITCH_UPSTREAM_PORT,
        /** A port of a switch that points to a device. */
        SWITCH_DOWNSTREAM_PORT,
        /** Any other bridge, or a port whose configuration space we may not read far enough. */
        BRIDGE,
        /** Whatever is no bridge. */
        ENDPOINT
    }

    /** Copies the list. */
    public PciFunction {
        upstreamBridges = List.copyOf(upstreamBridges);
    }

    PciFunction withAcs(AcsControl now) {
        return now.equals(acs)
                ? this
                : new PciFunction(address, vendorId, deviceId, classCode, kind, hostBridge, upstreamBridges, now);
    }

    /** The function with a word for what it is, where its class says so: {@code NIC 0000:41:00.0}. */
    public String describe() {
        String word = switch (classCode >>> 8) {
            case 0x0200, 0x0207 -> "NIC ";
            case 0x0108 -> "NVMe device ";
            case 0x0300, 0x0302 -> "GPU ";
            case 0x1200 -> "accelerator ";
            default -> "";
        };
        return word + address;
    }

    /** Vendor and device as lspci writes them: {@code 8086:29c0}. */
    public String ids() {
        return String.format("%04x:%04x", vendorId, deviceId);
    }
}

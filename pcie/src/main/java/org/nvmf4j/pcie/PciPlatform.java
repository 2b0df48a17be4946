package org.nvmf4j.pcie;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * What is known about the root complex: whether it routes peer-to-peer traffic between its ports. Linux trusts AMD
 * processors from Zen on, and a list of Intel host bridges, some only within one host bridge. (Linux's list also has
 * accelerators within a processor and host bridges of phones; those are left out here.)
 *
 * @param cpuVendor as {@code vendor_id} of {@code /proc/cpuinfo}, empty if unknown
 * @param cpuFamily as {@code cpu family} there, 0 if unknown
 */
public record PciPlatform(String cpuVendor, int cpuFamily) {
    private static final int INTEL = 0x8086;
    private static final int AMD_ZEN = 0x17;

    /** Intel host bridges that route, to whether they do so also to another host bridge. */
    private static final Map<Integer, Boolean> ROUTING = Map.of(
            0x3c00, false, // Xeon E5, Core i7
            0x3c01, false,
            0x2f00, false, // Xeon E7 v3, Xeon E5 v3, Core i7
            0x2f01, false,
            0x2030, true, // Skylake-E, its four root ports and its host bridge
            0x2031, true,
            0x2032, true,
            0x2033, true,
            0x2020, true,
            0x09a2, true); // 3rd generation Xeon Scalable and later

    /** A platform of which nothing is known, and which therefore is not trusted to route. */
    public static final PciPlatform UNKNOWN = new PciPlatform("", 0);

    /** What a file like {@code /proc/cpuinfo} says of the first processor; {@link #UNKNOWN} if it says nothing or does not exist. */
    public static PciPlatform read(Path cpuInfo) {
        try {
            List<String> lines = Files.readAllLines(cpuInfo);
            String family = value(lines, "cpu family");
            return new PciPlatform(
                    value(lines, "vendor_id"), family.matches("\\d{1,9}") ? Integer.parseInt(family) : 0);
        } catch (IOException e) {
            return UNKNOWN;
        }
    }

    private static String value(List<String> lines, String key) {
        for (String line : lines) {
            int colon = line.indexOf(':');
            if (colon > 0 && line.substring(0, colon).strip().equals(key)) {
                return line.substring(colon + 1).strip();
            }
        }
        return "";
    }

    /** Whether the processor's root complex routes between all its ports, whatever its host bridges say. */
    boolean routesEverywhere() {
        return cpuVendor.equals("AuthenticAMD") && cpuFamily >= AMD_ZEN;
    }

    /** Whether a host bridge, known by its function on the root bus, routes within itself or also to others. */
    static boolean isListed(PciFunction hostBridge, boolean withinItself) {
        Boolean toOthers = hostBridge.vendorId() == INTEL ? ROUTING.get(hostBridge.deviceId()) : null;
        return toOthers != null && (withinItself || toOthers);
    }
}

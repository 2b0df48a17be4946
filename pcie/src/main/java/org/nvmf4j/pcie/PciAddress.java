package org.nvmf4j.pcie;

import java.util.Comparator;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where a PCI function sits, written as Linux and lspci write it: {@code 0000:03:00.0}.
 *
 * @param domain 0 to 0xfffffff; domains above 0xffff are made by software, such as that of Intel VMD
 * @param bus 0 to 255
 * @param device 0 to 31
 * @param function 0 to 7
 */
public record PciAddress(int domain, int bus, int device, int function) implements Comparable<PciAddress> {
    private static final Pattern TEXT =
            Pattern.compile("(?:([0-9a-fA-F]{4,7}):)?([0-9a-fA-F]{2}):([01][0-9a-fA-F])\\.([0-7])");
    private static final Comparator<PciAddress> ORDER = Comparator.comparingInt(PciAddress::domain)
            .thenComparingInt(PciAddress::bus)
            .thenComparingInt(PciAddress::device)
            .thenComparingInt(PciAddress::function);

    /** Checks the ranges. */
    public PciAddress {
        if (domain < 0 || domain > 0xfffffff || (bus & ~0xff) != 0 || (device & ~0x1f) != 0 || (function & ~7) != 0) {
            throw new IllegalArgumentException("no PCI address: domain " + domain + ", bus " + bus + ", device "
                    + device + ", function " + function);
        }
    }

    /**
     * The address in a text, {@code 0000:03:00.0} or, in domain 0, {@code 03:00.0}.
     *
     * @throws IllegalArgumentException if the text is something else
     */
    public static PciAddress parse(String text) {
        return find(text)
                .orElseThrow(() -> new IllegalArgumentException(
                        "'" + text + "' is no PCI address; write it as 0000:03:00.0 or 03:00.0"));
    }

    /** As {@link #parse}, empty if the text is something else. */
    public static Optional<PciAddress> find(String text) {
        Matcher parts = TEXT.matcher(text);
        if (!parts.matches()) {
            return Optional.empty();
        }
        String domain = parts.group(1);
        return Optional.of(new PciAddress(
                domain == null ? 0 : Integer.parseInt(domain, 16),
                Integer.parseInt(parts.group(2), 16),
                Integer.parseInt(parts.group(3), 16),
                Integer.parseInt(parts.group(4), 16)));
    }

    @Override
    public int compareTo(PciAddress other) {
        return ORDER.compare(this, other);
    }

    @Override
    public String toString() {
        return String.format("%04x:%02x:%02x.%x", domain, bus, device, function);
    }
}

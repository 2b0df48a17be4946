package org.nvmf4j.target;

import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the user wants of peer memory for a namespace: {@code 0} for none, {@code 1} for the nearest that everybody can use, or the PCI
 * address of a certain device, as the attribute {@code p2pmem} of a namespace in Linux's nvmet.
 *
 * @param kind which of the three
 * @param pciAddress with {@link Kind#DEVICE}, as {@code 0000:03:00.0}; else empty
 */
public record PeerMemoryChoice(Kind kind, String pciAddress) {
    /** Data passes through system memory; the default. */
    public static final PeerMemoryChoice OFF = new PeerMemoryChoice(Kind.OFF, "");
    /** The nearest published memory that every client reaches by itself, if there is one. */
    public static final PeerMemoryChoice AUTO = new PeerMemoryChoice(Kind.AUTO, "");

    private static final Pattern ADDRESS =
            Pattern.compile("(?:([0-9a-fA-F]{4}):)?([0-9a-fA-F]{2}:[0-1][0-9a-fA-F]\\.[0-7])");

    /** Which memory. */
    public enum Kind {
        OFF,
        AUTO,
        DEVICE
    }

    /**
     * Reads the attribute's value.
     *
     * @throws IllegalArgumentException with one line that says what is right
     */
    public static PeerMemoryChoice parse(String text) {
        return switch (text) {
            case "0" -> OFF;
            case "1" -> AUTO;
            default -> ofDevice(text);
        };
    }

    private static PeerMemoryChoice ofDevice(String text) {
        return pciAddress(text)
                .map(address -> new PeerMemoryChoice(Kind.DEVICE, address))
                .orElseThrow(() -> new IllegalArgumentException("p2pmem=" + text
                        + " is neither 0 (off), 1 (the nearest) nor a PCI address such as 0000:03:00.0"));
    }

    /** A PCI address in full, or empty if the text is something else. */
    static Optional<String> pciAddress(String text) {
        Matcher address = ADDRESS.matcher(text);
        if (!address.matches()) {
            return Optional.empty();
        }
        String domain = address.group(1) == null ? "0000" : address.group(1);
        return Optional.of((domain + ":" + address.group(2)).toLowerCase(Locale.ROOT));
    }

    @Override
    public String toString() {
        return switch (kind) {
            case OFF -> "0";
            case AUTO -> "1";
            case DEVICE -> pciAddress;
        };
    }
}

package org.nvmf4j.pcie;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A copy of a function's configuration space as sysfs gives it: 64 bytes without privileges, 256 for a conventional
 * function, 4096 for a PCI Express one. Offsets are those of the PCI Express Base Specification. Lists that run in
 * circles or out of the space end there.
 */
final class PciConfigSpace {
    static final int PORT_ROOT = 4;
    static final int PORT_SWITCH_UPSTREAM = 5;
    static final int PORT_SWITCH_DOWNSTREAM = 6;

    private static final int STATUS = 0x06;
    private static final int STATUS_CAPABILITIES = 0x10;
    private static final int CAPABILITIES_POINTER = 0x34;
    private static final int CAPABILITY_PCI_EXPRESS = 0x10;
    private static final int HEADER_BYTES = 0x40;
    private static final int CONVENTIONAL_BYTES = 0x100;
    private static final int EXTENDED_CAPABILITY_ACS = 0x0d;
    private static final int ACS_CONTROL = 6;

    private final ByteBuffer bytes;

    PciConfigSpace(byte[] bytes) {
        this.bytes = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** The device/port type of the PCI Express capability, -1 if there is none or we may not see it. */
    int portType() {
        int at = findCapability(CAPABILITY_PCI_EXPRESS);
        return at < 0 ? -1 : word(at + 2) >>> 4 & 0xf;
    }

    AcsControl acs() {
        // What has gone, or sleeps too deep, reads as ones.
        if (bytes.limit() < CONVENTIONAL_BYTES || word(0) == 0xffff || isFilledUp()) {
            return AcsControl.UNKNOWN;
        }
        int at = acsControlAt();
        return at < 0 ? AcsControl.ABSENT : new AcsControl(AcsControl.State.PRESENT, word(at));
    }

    /** Where the ACS Control register is, -1 if there is none or we may not see it. */
    int acsControlAt() {
        int at = findExtendedCapability(EXTENDED_CAPABILITY_ACS);
        return at < 0 || at > bytes.limit() - ACS_CONTROL - 2 ? -1 : at + ACS_CONTROL;
    }

    /** Whether an archive filled up with zeros what was read without privileges. */
    private boolean isFilledUp() {
        int first = bytes.get(CAPABILITIES_POINTER) & 0xfc;
        return (word(STATUS) & STATUS_CAPABILITIES) != 0 && first >= HEADER_BYTES && word(first) == 0;
    }

    private int findCapability(int id) {
        if (bytes.limit() < CONVENTIONAL_BYTES || (word(STATUS) & STATUS_CAPABILITIES) == 0) {
            return -1;
        }
        int at = bytes.get(CAPABILITIES_POINTER) & 0xfc;
        for (int left = (CONVENTIONAL_BYTES - HEADER_BYTES) / 4; left > 0 && at >= HEADER_BYTES; left--) {
            if ((bytes.get(at) & 0xff) == id) {
                return at;
            }
            at = bytes.get(at + 1) & 0xfc;
        }
        return -1;
    }

    private int findExtendedCapability(int id) {
        int at = CONVENTIONAL_BYTES;
        int left = (bytes.limit() - CONVENTIONAL_BYTES) / 8;
        while (left-- > 0 && at >= CONVENTIONAL_BYTES && at <= bytes.limit() - 4) {
            int header = bytes.getInt(at);
            if (header == 0 || header == -1) {
                return -1;
            }
            if ((header & 0xffff) == id) {
                return at;
            }
            at = header >>> 20 & 0xffc;
        }
        return -1;
    }

    private int word(int at) {
        return bytes.getShort(at) & 0xffff;
    }
}

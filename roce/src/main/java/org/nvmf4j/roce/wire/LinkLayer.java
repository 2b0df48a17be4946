package org.nvmf4j.roce.wire;

/** Finds the IP header in captured frames of the usual link types. */
final class LinkLayer {
    static final int ETHERNET = 1;

    private static final int NULL = 0;
    private static final int RAW_BSD = 12;
    private static final int RAW_OPENBSD = 14;
    private static final int RAW = 101;
    private static final int LOOP = 108;
    private static final int LINUX_SLL = 113;
    private static final int IPV4 = 228;
    private static final int IPV6 = 229;
    private static final int LINUX_SLL2 = 276;

    private static final int ETHERTYPE_IPV4 = 0x0800;
    private static final int ETHERTYPE_IPV6 = 0x86DD;
    private static final int ETHERTYPE_VLAN = 0x8100;
    private static final int ETHERTYPE_SERVICE_VLAN = 0x88A8;
    private static final int VLAN_BYTES = 4;

    private LinkLayer() {}

    /** Offset of what claims to be an IP header, or −1; it may lie behind the end of the frame. */
    static int ipOffset(int linkType, byte[] frame) {
        return switch (linkType) {
            case ETHERNET -> afterEtherType(frame, 12);
            case LINUX_SLL -> afterEtherType(frame, 14);
            case LINUX_SLL2 -> isIp(etherType(frame, 0)) ? 20 : -1;
            case RAW, RAW_BSD, RAW_OPENBSD, IPV4, IPV6 -> 0;
            case NULL, LOOP -> 4;
            default -> -1;
        };
    }

    private static int afterEtherType(byte[] frame, int offset) {
        int at = offset;
        int type = etherType(frame, at);
        while (type == ETHERTYPE_VLAN || type == ETHERTYPE_SERVICE_VLAN) {
            at += VLAN_BYTES;
            type = etherType(frame, at);
        }
        return isIp(type) ? at + 2 : -1;
    }

    private static boolean isIp(int etherType) {
        return etherType == ETHERTYPE_IPV4 || etherType == ETHERTYPE_IPV6;
    }

    private static int etherType(byte[] frame, int at) {
        return at > frame.length - 2 ? -1 : (frame[at] & 0xFF) << 8 | (frame[at + 1] & 0xFF);
    }
}

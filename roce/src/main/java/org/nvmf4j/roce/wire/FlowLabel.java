package org.nvmf4j.roce.wire;

/** The 20-bit flow label that a CM request names, and the UDP source port that both sides derive from it, as Linux does. */
public final class FlowLabel {
    /** All bits of a flow label. */
    public static final int MASK = 0xF_FFFF;

    private FlowLabel() {}

    /** The flow label that the connecting side derives from the two ports of its RDMA CM identifier. */
    public static int ofPorts(int sourcePort, int destinationPort) {
        return sourcePort * 31 + destinationPort & MASK;
    }

    /** The flow label of a queue pair for which none was named; the same from both ends. */
    public static int ofQpns(int localQpn, int remoteQpn) {
        long v = (long) localQpn * remoteQpn;
        v ^= v >>> 20;
        v ^= v >>> 40;
        return (int) v & MASK;
    }

    /** UDP source port, 0xC000 to 0xFFFF, of a flow label. */
    public static int udpSourcePort(int flowLabel) {
        return 0xC000 | ((flowLabel & 0x3FFF) ^ (flowLabel >>> 14 & 0x3F));
    }
}

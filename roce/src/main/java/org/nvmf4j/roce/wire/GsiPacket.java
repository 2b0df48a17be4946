package org.nvmf4j.roce.wire;

import java.lang.foreign.MemorySegment;

/**
 * A packet from and to QP 1, the general services queue pair: an unreliable datagram with BTH, DETH, one {@link Mad} and ICRC. Its
 * sequence number means nothing to receivers.
 */
public final class GsiPacket {
    /** The general services queue pair. */
    public static final int QPN = 1;

    /** Offset of the MAD. */
    public static final int MAD_OFFSET = Bth.LENGTH + Deth.LENGTH;

    /** Bytes of the whole packet, ICRC included. */
    public static final int LENGTH = MAD_OFFSET + Mad.LENGTH + RocePacket.ICRC_BYTES;

    private GsiPacket() {}

    /** Whether a UDP payload is a packet to QP 1 with one MAD, by everything but its ICRC. */
    public static boolean isValid(MemorySegment m, long offset, long bytes) {
        return bytes == LENGTH
                && Bth.opcode(m, offset) == Opcode.UD_SEND_ONLY
                && RocePacket.check(m, offset, LENGTH) == Mad.LENGTH
                && Bth.destinationQpn(m, offset) == QPN
                && Deth.qKey(m, offset + Bth.LENGTH) == Deth.GSI_Q_KEY;
    }

    /** Writes BTH and DETH; the MAD follows at {@link #MAD_OFFSET}, and after it the ICRC, which the sender computes. */
    public static void writeHeaders(MemorySegment m, long offset, int psn) {
        Bth.write(m, offset, Opcode.UD_SEND_ONLY, 0, 0, QPN, false, psn);
        Deth.write(m, offset + Bth.LENGTH, Deth.GSI_Q_KEY, QPN);
    }
}

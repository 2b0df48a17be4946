package org.nvmf4j.roce.rc;

import java.lang.foreign.MemorySegment;
import org.nvmf4j.roce.wire.Aeth;
import org.nvmf4j.roce.wire.AethSyndrome;
import org.nvmf4j.roce.wire.Bth;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.roce.wire.PacketSink;

/** Emits acknowledge packets: ACK, NAK and RNR NAK. */
final class Responses {
    private Responses() {}

    /** Emits one; false if there is no room. */
    static boolean acknowledge(RcContext context, PacketSink sink, long psn, int syndrome, int msn) {
        if (!sink.begin(Opcode.headerBytes(Opcode.RC_ACKNOWLEDGE), 0)) {
            return false;
        }
        MemorySegment header = sink.headerSegment();
        long at = sink.headerOffset();
        Bth.write(header, at, Opcode.RC_ACKNOWLEDGE, Bth.MIGRATION_REQUEST, 0, context.remoteNumber, false, (int) psn);
        Aeth.write(header, at + Bth.LENGTH, syndrome, context.reportMsn(msn));
        sink.end();
        count(context.statistics, syndrome);
        return true;
    }

    private static void count(RcStatistics statistics, int syndrome) {
        statistics.packetsSent++;
        if (AethSyndrome.isAck(syndrome)) {
            statistics.acksSent++;
        } else if (AethSyndrome.isRnrNak(syndrome)) {
            statistics.rnrNaksSent++;
        } else if (syndrome == AethSyndrome.NAK_PSN_SEQUENCE_ERROR) {
            statistics.sequenceNaksSent++;
        } else {
            statistics.fatalNaksSent++;
        }
    }
}

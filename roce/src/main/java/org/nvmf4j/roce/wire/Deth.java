package org.nvmf4j.roce.wire;

import java.lang.foreign.MemorySegment;

/** Accessors of the datagram extended transport header (DETH): Q_Key and source queue pair. IBTA volume 1, section 9.3.2. */
public final class Deth {
    /** Bytes of the header. */
    public static final int LENGTH = 8;

    /** Q_Key of the general services queue pair, QP 1. */
    public static final int GSI_Q_KEY = 0x8001_0000;

    private static final int SOURCE_QPN = 4;

    private Deth() {}

    public static int qKey(MemorySegment m, long offset) {
        return BigEndian.getInt(m, offset);
    }

    /** Source queue pair number, 24 bits. */
    public static int sourceQpn(MemorySegment m, long offset) {
        return BigEndian.getInt(m, offset + SOURCE_QPN) & 0xFF_FFFF;
    }

    public static void write(MemorySegment m, long offset, int qKey, int sourceQpn) {
        BigEndian.putInt(m, offset, qKey);
        BigEndian.putInt(m, offset + SOURCE_QPN, sourceQpn & 0xFF_FFFF);
    }
}

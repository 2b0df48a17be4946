package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;

/**
 * The Connect command (NVMe Base 2.0), read and written in place; {@code offset} is where the submission queue entry
 * begins. Its data is {@link ConnectData}.
 */
public final class ConnectCommand {
    /** CATTR: the host ignores the submission queue head pointer. */
    public static final int CATTR_DISABLE_SQ_FLOW_CONTROL = 1 << 2;

    /** Where fields are within the entry, for {@link #invalidParameter}. */
    public static final int RECFMT_OFFSET = 40;

    public static final int QID_OFFSET = 42;
    public static final int SQSIZE_OFFSET = 44;
    public static final int CATTR_OFFSET = 46;
    public static final int KATO_OFFSET = 48;

    /** Result: the host must authenticate before it goes on. */
    public static final int RESULT_ATR = 1 << 17;
    /** Result: the host must authenticate on a secure channel before it goes on. */
    public static final int RESULT_ASCR = 1 << 18;

    private static final int IATTR_DATA = 1 << 16;

    private ConnectCommand() {}

    /**
     * Writes the whole entry but for the data pointer.
     *
     * @param sqsizeZeroBased entries of the queue less one, at least 1
     * @param katoMillis keep alive timeout, 0 for none; meant by the admin queue alone
     */
    public static void write(
            MemorySegment segment,
            long offset,
            int commandId,
            int qid,
            int sqsizeZeroBased,
            int cattr,
            int katoMillis) {
        SubmissionQueueEntry.write(segment, offset, AdminOpcode.FABRICS, commandId, 0);
        FabricsType.fctype(segment, offset, FabricsType.CONNECT);
        Bytes.u16(segment, offset + QID_OFFSET, qid);
        Bytes.u16(segment, offset + SQSIZE_OFFSET, sqsizeZeroBased);
        Bytes.u8(segment, offset + CATTR_OFFSET, cattr);
        Bytes.u32(segment, offset + KATO_OFFSET, katoMillis);
    }

    /** Record format, 0. */
    public static int recfmt(MemorySegment segment, long offset) {
        return Bytes.u16(segment, offset + RECFMT_OFFSET);
    }

    /** Queue: 0 admin, above I/O. */
    public static int qid(MemorySegment segment, long offset) {
        return Bytes.u16(segment, offset + QID_OFFSET);
    }

    /** Entries of the queue less one; 0 is illegal. */
    public static int sqsizeZeroBased(MemorySegment segment, long offset) {
        return Bytes.u16(segment, offset + SQSIZE_OFFSET);
    }

    public static int cattr(MemorySegment segment, long offset) {
        return Bytes.u8(segment, offset + CATTR_OFFSET);
    }

    /** Keep alive timeout in milliseconds, unsigned; 0 for none. */
    public static long katoMillis(MemorySegment segment, long offset) {
        return Bytes.u32(segment, offset + KATO_OFFSET) & 0xffff_ffffL;
    }

    /** The controller id in the result of success. */
    public static int cntlid(int result) {
        return result & 0xffff;
    }

    /**
     * The result that goes with {@link NvmeStatus#CONNECT_INVALID_PARAMETERS}.
     *
     * @param inData whether the field is in the Connect data rather than in the submission queue entry
     * @param fieldOffset where the blamed field begins there, such as {@link #QID_OFFSET} or {@link ConnectData#CNTLID_OFFSET}
     */
    public static int invalidParameter(boolean inData, int fieldOffset) {
        return (fieldOffset & 0xffff) | (inData ? IATTR_DATA : 0);
    }

    /** Names the field that the result of {@link NvmeStatus#CONNECT_INVALID_PARAMETERS} blames. */
    public static String describeInvalidParameter(int result) {
        int at = result & 0xffff;
        if ((result & IATTR_DATA) != 0) {
            return switch (at) {
                case ConnectData.HOSTID_OFFSET -> "HOSTID, the host identifier";
                case ConnectData.CNTLID_OFFSET -> "CNTLID, the controller ID";
                case ConnectData.SUBNQN_OFFSET ->
                    "SUBNQN, the subsystem NQN, which the target does not have or not for this host";
                case ConnectData.HOSTNQN_OFFSET -> "HOSTNQN, the host NQN";
                default -> "byte " + at + " of the Connect data";
            };
        }
        return switch (at) {
            case RECFMT_OFFSET -> "RECFMT, the record format";
            case QID_OFFSET -> "QID, the queue ID";
            case SQSIZE_OFFSET -> "SQSIZE, the queue size";
            case CATTR_OFFSET -> "CATTR, the connect attributes";
            case KATO_OFFSET -> "KATO, the keep alive timeout";
            default -> "byte " + at + " of the Connect command";
        };
    }
}

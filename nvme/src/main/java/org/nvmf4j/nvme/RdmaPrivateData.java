package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;

/** The private data of NVMe/RDMA in connection management messages (NVMe RDMA Transport 1.0). */
public final class RdmaPrivateData {
    public static final int REQUEST_BYTES = 32;
    public static final int ACCEPT_BYTES = 32;
    public static final int REJECT_BYTES = 4;

    /** Reject status: the private data is too short. */
    public static final int INVALID_LENGTH = 1;
    /** Reject status: an unknown record format. */
    public static final int INVALID_RECFMT = 2;
    /** Reject status: a queue id beyond what the target has. */
    public static final int INVALID_QID = 3;
    /** Reject status: an unusable size of the host's submission queue. */
    public static final int INVALID_HSQSIZE = 4;
    /** Reject status: an unusable size of the host's receive queue. */
    public static final int INVALID_HRQSIZE = 5;
    /** Reject status: the target has nothing left for another queue. */
    public static final int NO_RESOURCES = 6;
    /** Reject status: unusable inbound READ limits. */
    public static final int INVALID_IRD = 7;
    /** Reject status: unusable outbound READ limits. */
    public static final int INVALID_ORD = 8;
    /** Reject status: an unknown controller. */
    public static final int INVALID_CNTLID = 9;

    private static final int RECFMT = 0;

    private RdmaPrivateData() {}

    /**
     * What a host asks for.
     *
     * @param qid queue: 0 admin, above I/O
     * @param hrqsize entries of the host's receive queue, so how many responses the target may have on the way; not zero-based
     * @param hsqsizeZeroBased entries of the host's submission queue less one, as Connect's SQSIZE
     * @param cntlid of an I/O queue the controller, or 0 from a host that does not say
     */
    public record Request(int qid, int hrqsize, int hsqsizeZeroBased, int cntlid) {
        private static final int QID = 2;
        private static final int HRQSIZE = 4;
        private static final int HSQSIZE = 6;
        private static final int CNTLID = 8;

        /**
         * Why the private data cannot be read: 0 if it can be, or {@link #INVALID_LENGTH} or {@link #INVALID_RECFMT} to reject with.
         */
        public static int check(byte[] privateData) {
            if (privateData.length < REQUEST_BYTES) {
                return INVALID_LENGTH;
            }
            return Bytes.u16(MemorySegment.ofArray(privateData), RECFMT) == 0 ? 0 : INVALID_RECFMT;
        }

        /**
         * Reads private data, maybe with padding behind it.
         *
         * @throws NvmeFormatException if {@link #check} is not 0
         */
        public static Request parse(byte[] privateData) throws NvmeFormatException {
            int problem = check(privateData);
            if (problem != 0) {
                throw new NvmeFormatException(
                        "NVMe/RDMA request of " + privateData.length + " bytes: " + words(problem));
            }
            MemorySegment data = MemorySegment.ofArray(privateData);
            return new Request(
                    Bytes.u16(data, QID), Bytes.u16(data, HRQSIZE), Bytes.u16(data, HSQSIZE), Bytes.u16(data, CNTLID));
        }

        /** The bytes to connect with. */
        public byte[] toBytes() {
            byte[] bytes = new byte[REQUEST_BYTES];
            MemorySegment data = MemorySegment.ofArray(bytes);
            Bytes.u16(data, QID, qid);
            Bytes.u16(data, HRQSIZE, hrqsize);
            Bytes.u16(data, HSQSIZE, hsqsizeZeroBased);
            Bytes.u16(data, CNTLID, cntlid);
            return bytes;
        }
    }

    /**
     * What a target accepts with.
     *
     * @param crqsize entries of the controller's receive queue, not zero-based
     */
    public record Accept(int crqsize) {
        private static final int CRQSIZE = 2;

        /**
         * Reads private data, maybe with padding behind it.
         *
         * @throws NvmeFormatException if it is too short or of an unknown format
         */
        public static Accept parse(byte[] privateData) throws NvmeFormatException {
            if (privateData.length < CRQSIZE + Short.BYTES) {
                throw new NvmeFormatException(
                        "NVMe/RDMA accept of " + privateData.length + " bytes: " + words(INVALID_LENGTH));
            }
            MemorySegment data = MemorySegment.ofArray(privateData);
            if (Bytes.u16(data, RECFMT) != 0) {
                throw new NvmeFormatException("NVMe/RDMA accept: " + words(INVALID_RECFMT));
            }
            return new Accept(Bytes.u16(data, CRQSIZE));
        }

        /** The bytes to accept with. */
        public byte[] toBytes() {
            byte[] bytes = new byte[ACCEPT_BYTES];
            Bytes.u16(MemorySegment.ofArray(bytes), CRQSIZE, crqsize);
            return bytes;
        }
    }

    /** Why a target refuses. */
    public record Reject(int status) {
        private static final int STATUS = 2;

        /**
         * Reads private data, maybe with padding behind it.
         *
         * @throws NvmeFormatException if it is too short or of an unknown format
         */
        public static Reject parse(byte[] privateData) throws NvmeFormatException {
            if (privateData.length < REJECT_BYTES) {
                throw new NvmeFormatException(
                        "NVMe/RDMA reject of " + privateData.length + " bytes: " + words(INVALID_LENGTH));
            }
            MemorySegment data = MemorySegment.ofArray(privateData);
            if (Bytes.u16(data, RECFMT) != 0) {
                throw new NvmeFormatException("NVMe/RDMA reject: " + words(INVALID_RECFMT));
            }
            return new Reject(Bytes.u16(data, STATUS));
        }

        /** The bytes to reject with. */
        public byte[] toBytes() {
            byte[] bytes = new byte[REJECT_BYTES];
            Bytes.u16(MemorySegment.ofArray(bytes), STATUS, status);
            return bytes;
        }

        /** Words and number: {@code invalid host submission queue size (NVMe/RDMA status 4)}. */
        public String describe() {
            return words(status) + " (NVMe/RDMA status " + status + ")";
        }
    }

    /** The reject status in words. */
    public static String words(int status) {
        return switch (status) {
            case INVALID_LENGTH -> "invalid private data length";
            case INVALID_RECFMT -> "invalid record format";
            case INVALID_QID -> "invalid queue ID";
            case INVALID_HSQSIZE -> "invalid host submission queue size";
            case INVALID_HRQSIZE -> "invalid host receive queue size";
            case NO_RESOURCES -> "no resources";
            case INVALID_IRD -> "invalid inbound RDMA READ limit";
            case INVALID_ORD -> "invalid outbound RDMA READ limit";
            case INVALID_CNTLID -> "invalid controller ID";
            default -> "unknown reason";
        };
    }
}

package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;

/**
 * An entry of the discovery log page, 1024 bytes (NVMe Base 2.0): where a subsystem is reached.
 *
 * @param trtype transport type: {@code TRTYPE_...}
 * @param adrfam address family: {@code ADRFAM_...}
 * @param subtype what is there: {@code SUBTYPE_...}
 * @param treq transport requirements: secure channel in bits 1:0, see {@link #treqName}
 * @param portid number of the port in the subsystem
 * @param cntlid controller, or {@link #CNTLID_DYNAMIC}
 * @param asqsz entries of the largest admin queue, at least 32; not zero-based
 * @param eflags entry flags: {@code EFLAGS_...}
 * @param trsvcid transport service identifier: the port number in decimal
 * @param subnqn subsystem
 * @param traddr transport address in text
 * @param rdma how to reach it, if the transport is RDMA
 */
public record DiscoveryLogEntry(
        int trtype,
        int adrfam,
        int subtype,
        int treq,
        int portid,
        int cntlid,
        int asqsz,
        int eflags,
        String trsvcid,
        String subnqn,
        String traddr,
        RdmaTsas rdma) {
    public static final int SIZE_BYTES = 1024;

    public static final int TRTYPE_RDMA = 1;
    public static final int TRTYPE_FC = 2;
    public static final int TRTYPE_TCP = 3;
    public static final int TRTYPE_LOOP = 254;

    public static final int ADRFAM_PCI = 0;
    public static final int ADRFAM_IPV4 = 1;
    public static final int ADRFAM_IPV6 = 2;
    public static final int ADRFAM_IB = 3;
    public static final int ADRFAM_FC = 4;
    public static final int ADRFAM_LOOP = 254;

    /** Another discovery subsystem. */
    public static final int SUBTYPE_REFERRAL = 1;

    public static final int SUBTYPE_NVME = 2;
    /** The discovery subsystem that gave the log page. */
    public static final int SUBTYPE_CURRENT_DISCOVERY = 3;

    public static final int TREQ_NOT_SPECIFIED = 0;
    public static final int TREQ_REQUIRED = 1;
    public static final int TREQ_NOT_REQUIRED = 2;
    /** The host can switch submission queue flow control off. */
    public static final int TREQ_DISABLE_SQ_FLOW_CONTROL = 4;

    public static final int CNTLID_DYNAMIC = 0xffff;
    /** Duplicate returned information: every discovery subsystem of the address gives the same. */
    public static final int EFLAGS_DUPRETINFO = 1;
    /** Explicit persistent connections are supported. */
    public static final int EFLAGS_EPCSD = 1 << 1;

    private static final int TRSVCID = 32;
    private static final int TRSVCID_BYTES = 32;
    private static final int SUBNQN = 256;
    private static final int TRADDR = 512;
    private static final int TRADDR_BYTES = 256;
    private static final int TSAS = 768;

    /**
     * Transport specific address subtype of RDMA.
     *
     * @param qptype queue pair type: {@link #QPTYPE_RC}
     * @param prtype provider type: {@code PRTYPE_...}
     * @param cms connection management service: {@link #CMS_RDMA_CM}
     * @param pkey partition key; 0 on Ethernet
     */
    public record RdmaTsas(int qptype, int prtype, int cms, int pkey) {
        public static final int QPTYPE_RC = 1;
        public static final int QPTYPE_RD = 2;
        public static final int PRTYPE_NOT_SPECIFIED = 1;
        public static final int PRTYPE_IB = 2;
        public static final int PRTYPE_ROCE = 3;
        public static final int PRTYPE_ROCEV2 = 4;
        public static final int PRTYPE_IWARP = 5;
        public static final int CMS_RDMA_CM = 1;

        /** Reliable connected, provider not specified, RDMA_CM: what Linux gives. */
        public static final RdmaTsas DEFAULT = new RdmaTsas(QPTYPE_RC, PRTYPE_NOT_SPECIFIED, CMS_RDMA_CM, 0);

        /** In nvme-cli's words. */
        public static String qptypeName(int qptype) {
            return switch (qptype) {
                case QPTYPE_RC -> "connected";
                case QPTYPE_RD -> "datagram";
                default -> "unrecognized";
            };
        }

        /** In nvme-cli's words. */
        public static String prtypeName(int prtype) {
            return switch (prtype) {
                case PRTYPE_NOT_SPECIFIED -> "not specified";
                case PRTYPE_IB -> "infiniband";
                case PRTYPE_ROCE -> "roce";
                case PRTYPE_ROCEV2 -> "roce-v2";
                case PRTYPE_IWARP -> "iwarp";
                default -> "unrecognized";
            };
        }

        /** In nvme-cli's words. */
        public static String cmsName(int cms) {
            return cms == CMS_RDMA_CM ? "rdma-cm" : "unrecognized";
        }
    }

    /**
     * An entry for an RDMA port.
     *
     * @param ipv6 whether {@code traddr} is an IPv6 address
     * @param port the port number
     */
    public static DiscoveryLogEntry rdma(
            int subtype, String subnqn, boolean ipv6, String traddr, int port, int portid, int asqsz) {
        return new DiscoveryLogEntry(
                TRTYPE_RDMA,
                ipv6 ? ADRFAM_IPV6 : ADRFAM_IPV4,
                subtype,
                TREQ_NOT_SPECIFIED,
                portid,
                CNTLID_DYNAMIC,
                asqsz,
                0,
                Integer.toString(port),
                subnqn,
                traddr,
                RdmaTsas.DEFAULT);
    }

    /**
     * Reads 1024 bytes; every content is accepted.
     *
     * @throws IndexOutOfBoundsException if the segment ends before
     */
    public static DiscoveryLogEntry parse(MemorySegment segment, long offset) {
        return new DiscoveryLogEntry(
                Bytes.u8(segment, offset),
                Bytes.u8(segment, offset + 1),
                Bytes.u8(segment, offset + 2),
                Bytes.u8(segment, offset + 3),
                Bytes.u16(segment, offset + 4),
                Bytes.u16(segment, offset + 6),
                Bytes.u16(segment, offset + 8),
                Bytes.u16(segment, offset + 10),
                Bytes.text(segment, offset + TRSVCID, TRSVCID_BYTES),
                Bytes.text(segment, offset + SUBNQN, Nqn.FIELD_BYTES),
                Bytes.text(segment, offset + TRADDR, TRADDR_BYTES),
                new RdmaTsas(
                        Bytes.u8(segment, offset + TSAS),
                        Bytes.u8(segment, offset + TSAS + 1),
                        Bytes.u8(segment, offset + TSAS + 2),
                        Bytes.u16(segment, offset + TSAS + 8)));
    }

    /** Writes all 1024 bytes. */
    public void write(MemorySegment segment, long offset) {
        segment.asSlice(offset, SIZE_BYTES).fill((byte) 0);
        Bytes.u8(segment, offset, trtype);
        Bytes.u8(segment, offset + 1, adrfam);
        Bytes.u8(segment, offset + 2, subtype);
        Bytes.u8(segment, offset + 3, treq);
        Bytes.u16(segment, offset + 4, portid);
        Bytes.u16(segment, offset + 6, cntlid);
        Bytes.u16(segment, offset + 8, asqsz);
        Bytes.u16(segment, offset + 10, eflags);
        Bytes.text(segment, offset + TRSVCID, TRSVCID_BYTES, trsvcid, '\0');
        Bytes.text(segment, offset + SUBNQN, Nqn.FIELD_BYTES, subnqn, '\0');
        Bytes.text(segment, offset + TRADDR, TRADDR_BYTES, traddr, '\0');
        Bytes.u8(segment, offset + TSAS, rdma.qptype);
        Bytes.u8(segment, offset + TSAS + 1, rdma.prtype);
        Bytes.u8(segment, offset + TSAS + 2, rdma.cms);
        Bytes.u16(segment, offset + TSAS + 8, rdma.pkey);
    }

    /** In nvme-cli's words. */
    public static String trtypeName(int trtype) {
        return switch (trtype) {
            case TRTYPE_RDMA -> "rdma";
            case TRTYPE_FC -> "fc";
            case TRTYPE_TCP -> "tcp";
            case TRTYPE_LOOP -> "loop";
            default -> "unrecognized";
        };
    }

    /** In nvme-cli's words. */
    public static String adrfamName(int adrfam) {
        return switch (adrfam) {
            case ADRFAM_PCI -> "pci";
            case ADRFAM_IPV4 -> "ipv4";
            case ADRFAM_IPV6 -> "ipv6";
            case ADRFAM_IB -> "infiniband";
            case ADRFAM_FC -> "fibre-channel";
            case ADRFAM_LOOP -> "loop";
            default -> "unrecognized";
        };
    }

    /** In nvme-cli's words. */
    public static String subtypeName(int subtype) {
        return switch (subtype) {
            case SUBTYPE_REFERRAL -> "discovery subsystem referral";
            case SUBTYPE_NVME -> "nvme subsystem";
            case SUBTYPE_CURRENT_DISCOVERY -> "current discovery subsystem";
            default -> "unrecognized";
        };
    }

    /** In nvme-cli's words. */
    public static String treqName(int treq) {
        return switch (treq) {
            case TREQ_NOT_SPECIFIED -> "not specified";
            case TREQ_REQUIRED -> "required";
            case TREQ_NOT_REQUIRED -> "not required";
            case TREQ_DISABLE_SQ_FLOW_CONTROL -> "not specified, sq flow control disable supported";
            case TREQ_REQUIRED | TREQ_DISABLE_SQ_FLOW_CONTROL -> "required, sq flow control disable supported";
            case TREQ_NOT_REQUIRED | TREQ_DISABLE_SQ_FLOW_CONTROL -> "not required, sq flow control disable supported";
            default -> "unrecognized";
        };
    }
}

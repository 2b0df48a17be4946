package org.nvmf4j.nvme;

import java.util.Locale;

/** Where the controller's properties are, and what their bits mean (NVMe Base 2.0, section 3.1.3). */
public final class ControllerProperties {
    /** Controller Capabilities, 8 bytes. */
    public static final int CAP = 0x00;
    /** Version, 4 bytes. */
    public static final int VS = 0x08;
    /** Controller Configuration, 4 bytes. */
    public static final int CC = 0x14;
    /** Controller Status, 4 bytes. */
    public static final int CSTS = 0x1c;
    /** NVM Subsystem Reset, 4 bytes; takes {@link #NSSR_MAGIC}. */
    public static final int NSSR = 0x20;
    /** Admin Queue Attributes, 4 bytes; over PCIe, as all below but CRTO. */
    public static final int AQA = 0x24;
    /** Admin Submission Queue Base Address, 8 bytes. */
    public static final int ASQ = 0x28;
    /** Admin Completion Queue Base Address, 8 bytes. */
    public static final int ACQ = 0x30;
    /** Controller Memory Buffer Location, 4 bytes; see {@link ControllerMemoryBuffer}. */
    public static final int CMBLOC = 0x38;
    /** Controller Memory Buffer Size, 4 bytes. */
    public static final int CMBSZ = 0x3c;
    /** Controller Memory Buffer Memory Space Control, 8 bytes. */
    public static final int CMBMSC = 0x50;
    /** Controller Memory Buffer Status, 4 bytes. */
    public static final int CMBSTS = 0x58;
    /** Where the doorbells begin. */
    public static final int DOORBELLS = 0x1000;
    /** Controller Ready Timeouts, 4 bytes. */
    public static final int CRTO = 0x68;

    /** "NVMe". */
    public static final int NSSR_MAGIC = 0x4e56_4d65;

    /** CAP: the NVM subsystem can be reset. */
    public static final long CAP_NSSRS = 1L << 36;
    /** CAP: the NVM command set. */
    public static final long CAP_CSS_NVM = 1L << 37;
    /** CAP: several I/O command sets. A Linux host then requires a CSI descriptor of every namespace. */
    public static final long CAP_CSS_IO_COMMAND_SETS = 1L << 43;
    /** CAP: no I/O command set, as of a discovery controller. */
    public static final long CAP_CSS_ADMIN_ONLY = 1L << 44;
    /** CAP: a controller memory buffer that {@link #CMBMSC} controls. */
    public static final long CAP_CMBS = 1L << 57;
    /** CAP: ready with media supported; {@link #CRTO} is there. */
    public static final long CAP_CRWMS = 1L << 59;
    /** CAP: ready independent of media supported. */
    public static final long CAP_CRIMS = 1L << 60;

    /** CC: enable. */
    public static final int CC_EN = 1;
    /** CC: IOSQES 6 and IOCQES 4, the entry sizes of the NVM command set. */
    public static final int CC_ENTRY_SIZES = 6 << 16 | 4 << 20;
    /** CC.CSS: the NVM command set. */
    public static final int CSS_NVM = 0;
    /** CC.CSS: all I/O command sets that the controller has. */
    public static final int CSS_ALL = 6;
    /** CC.CSS: the admin command set alone. */
    public static final int CSS_ADMIN_ONLY = 7;
    /** CC.SHN: no shutdown. */
    public static final int SHN_NONE = 0;
    /** CC.SHN: normal shutdown. */
    public static final int SHN_NORMAL = 1;
    /** CC.SHN: abrupt shutdown. */
    public static final int SHN_ABRUPT = 2;

    /** CSTS: ready. */
    public static final int CSTS_RDY = 1;
    /** CSTS: controller fatal status. */
    public static final int CSTS_CFS = 1 << 1;
    /** CSTS: the NVM subsystem was reset. */
    public static final int CSTS_NSSRO = 1 << 4;
    /** CSTS.SHST: normal operation. */
    public static final int SHST_NORMAL = 0;
    /** CSTS.SHST: shutdown goes on. */
    public static final int SHST_OCCURRING = 1;
    /** CSTS.SHST: shutdown is complete. */
    public static final int SHST_COMPLETE = 2;

    /** CMBMSC: CMBLOC and CMBSZ can be read. */
    public static final long CMBMSC_CRE = 1;
    /** CMBMSC: the controller answers at the address of its upper bits. */
    public static final long CMBMSC_CMSE = 1 << 1;

    private static final long CAP_CQR = 1L << 16;

    private ControllerProperties() {}

    /**
     * Capabilities of a controller with physically contiguous queues, 4 KiB pages and the NVM command set.
     *
     * @param mqesZeroBased entries of the largest I/O queue less one
     * @param timeoutMillis the longest wait for CSTS.RDY to change, at most 127,500; rounded up to 500 ms
     */
    public static long cap(int mqesZeroBased, int timeoutMillis) {
        if (mqesZeroBased >>> 16 != 0 || timeoutMillis < 0 || timeoutMillis > 255 * 500) {
            throw new IllegalArgumentException(
                    "MQES " + mqesZeroBased + " or timeout " + timeoutMillis + " ms out of range");
        }
        return mqesZeroBased | CAP_CQR | (long) ((timeoutMillis + 499) / 500) << 24 | CAP_CSS_NVM;
    }

    /** CAP.MQES: entries of the largest I/O queue less one. */
    public static int mqesZeroBased(long cap) {
        return (int) cap & 0xffff;
    }

    /** CAP.TO in milliseconds: the longest wait for CSTS.RDY to change. */
    public static int timeoutMillis(long cap) {
        return (int) (cap >>> 24 & 0xff) * 500;
    }

    /** CRTO.CRWMT in milliseconds: how long a controller may take to be ready with its media, also where that is more than CAP.TO can say. */
    public static int readyWithMediaMillis(int crto) {
        return (crto & 0xffff) * 500;
    }

    /** CAP.MPSMIN in bytes. */
    public static long minPageSizeBytes(long cap) {
        return 4096L << (cap >>> 48 & 0xf);
    }

    /** CAP.MPSMAX in bytes. */
    public static long maxPageSizeBytes(long cap) {
        return 4096L << (cap >>> 52 & 0xf);
    }

    /**
     * Where a queue's doorbell is.
     *
     * @param qid 0 for the admin queue
     * @param completion of the completion queue's head, else of the submission queue's tail
     */
    public static int doorbell(long cap, int qid, boolean completion) {
        return DOORBELLS + (2 * qid + (completion ? 1 : 0)) * doorbellStride(cap);
    }

    /** CAP.DSTRD in bytes: how far apart doorbells are. */
    public static int doorbellStride(long cap) {
        return 4 << (cap >>> 32 & 0xf);
    }

    /** A value of {@link #AQA}, of queues of 2 to 4096 entries. */
    public static int aqa(int submissionEntries, int completionEntries) {
        return submissionEntries - 1 | (completionEntries - 1) << 16;
    }

    /** Entries of the admin submission queue that AQA names. */
    public static int submissionEntries(int aqa) {
        return (aqa & 0xfff) + 1;
    }

    /** Entries of the admin completion queue that AQA names. */
    public static int completionEntries(int aqa) {
        return (aqa >>> 16 & 0xfff) + 1;
    }

    /** A version property: {@code version(1, 3, 0)} is 0x00010300. */
    public static int version(int major, int minor, int tertiary) {
        return major << 16 | minor << 8 | tertiary;
    }

    /** A version in words: 1.3, or 1.2.1. */
    public static String versionText(int vs) {
        String text = (vs >>> 16) + "." + (vs >>> 8 & 0xff);
        return (vs & 0xff) == 0 ? text : text + "." + (vs & 0xff);
    }

    /**
     * A controller configuration with 64-byte and 16-byte entries and 4 KiB pages.
     *
     * @param css {@link #CSS_NVM}, {@link #CSS_ALL} or {@link #CSS_ADMIN_ONLY}
     * @param shn {@link #SHN_NONE}, {@link #SHN_NORMAL} or {@link #SHN_ABRUPT}
     */
    public static int cc(boolean enable, int css, int shn) {
        return (enable ? CC_EN : 0) | css << 4 | shn << 14 | CC_ENTRY_SIZES;
    }

    public static boolean enabled(int cc) {
        return (cc & CC_EN) != 0;
    }

    /** CC.CSS: the I/O command set selected. */
    public static int css(int cc) {
        return cc >>> 4 & 7;
    }

    /** CC.MPS: the page size is 2 to the power of 12 + this. */
    public static int mps(int cc) {
        return cc >>> 7 & 0xf;
    }

    /** CC.AMS: the arbitration mechanism. */
    public static int ams(int cc) {
        return cc >>> 11 & 7;
    }

    /** CC.SHN: the shutdown that the host asks for. */
    public static int shn(int cc) {
        return cc >>> 14 & 3;
    }

    /** CC.IOSQES: submission queue entries have 2 to the power of this bytes. */
    public static int iosqes(int cc) {
        return cc >>> 16 & 0xf;
    }

    /** CC.IOCQES: completion queue entries have 2 to the power of this bytes. */
    public static int iocqes(int cc) {
        return cc >>> 20 & 0xf;
    }

    public static boolean ready(int csts) {
        return (csts & CSTS_RDY) != 0;
    }

    /** CSTS.CFS: a fatal error that the controller cannot tell by a completion. */
    public static boolean fatal(int csts) {
        return (csts & CSTS_CFS) != 0;
    }

    /** CSTS.SHST: how far the shutdown is. */
    public static int shst(int csts) {
        return csts >>> 2 & 3;
    }

    /** A controller status. */
    public static int csts(boolean ready, boolean fatal, int shst) {
        return (ready ? CSTS_RDY : 0) | (fatal ? CSTS_CFS : 0) | shst << 2;
    }

    /** The property's abbreviation, or its offset in hexadecimal. */
    public static String name(int property) {
        return switch (property) {
            case CAP -> "CAP";
            case VS -> "VS";
            case CC -> "CC";
            case CSTS -> "CSTS";
            case NSSR -> "NSSR";
            case CRTO -> "CRTO";
            default -> String.format(Locale.ROOT, "property 0x%x", property);
        };
    }
}

package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;

/**
 * A command: the 64-byte submission queue entry at the front of a command capsule, read and written in place (NVMe Base 2.0,
 * section 3.3.3.1). {@code offset} is where the entry begins; nothing is allocated.
 *
 * <p>Fields that belong to one command are in the class of that command: {@link ReadWriteCommand}, {@link IdentifyCommand},
 * {@link ConnectCommand} and so on.
 */
public final class SubmissionQueueEntry {
    public static final int SIZE_BYTES = 64;
    /** Where the data pointer, an {@link SglDescriptor}, is within the entry. */
    public static final int DPTR_OFFSET = 24;
    /** FLAGS of every command on a fabric: PSDT 01b, an SGL describes the data; not fused. */
    public static final int FLAGS_SGL = 0x40;
    /** NSID that means all namespaces. */
    public static final int NSID_ALL = 0xffff_ffff;

    private static final int OPCODE = 0;
    private static final int FLAGS = 1;
    private static final int COMMAND_ID = 2;
    private static final int NSID = 4;
    private static final int CDW2 = 8;
    private static final int CDW10 = 40;

    private SubmissionQueueEntry() {}

    /** Sets all 64 bytes to zero. */
    public static void clear(MemorySegment segment, long offset) {
        Bytes.clear64(segment, offset);
    }

    /** Writes a command without data whose command dwords are zero; Flush, Keep Alive and Asynchronous Event Request are done
     * with that. */
    public static void write(MemorySegment segment, long offset, int opcode, int commandId, int nsid) {
        clear(segment, offset);
        Bytes.u32(segment, offset, (opcode & 0xff) | FLAGS_SGL << 8 | commandId << 16);
        Bytes.u32(segment, offset + NSID, nsid);
        SglDescriptor.writeNone(segment, offset + DPTR_OFFSET);
    }

    /**
     * Describes the data by two PRP entries in place of an SGL, as over PCIe (NVMe Base 2.0, section 4.1.1).
     *
     * @param prp1 where the data begins, a multiple of 4
     * @param prp2 its second page, or a list of all from the second on; 0 if the data is within one page
     */
    public static void prp(MemorySegment segment, long offset, long prp1, long prp2) {
        flags(segment, offset, 0);
        Bytes.u64(segment, offset + DPTR_OFFSET, prp1);
        Bytes.u64(segment, offset + DPTR_OFFSET + Long.BYTES, prp2);
    }

    /**
     * Describes the data by one SGL data block, as an I/O command may over PCIe where the controller has SGLs; PRPs alone describe the data of
     * admin commands there (NVMe Base 2.0, section 3.3.3.1). Without metadata PSDT 01b and 10b mean the same, and 01b needs nothing of
     * {@link IdentifyController#sgls} but the data block.
     *
     * @param lengthBytes unsigned
     */
    public static void sgl(MemorySegment segment, long offset, long address, int lengthBytes) {
        flags(segment, offset, FLAGS_SGL);
        SglDescriptor.writeDataBlock(segment, offset + DPTR_OFFSET, address, lengthBytes);
    }

    /** The first PRP entry. */
    public static long prp1(MemorySegment segment, long offset) {
        return Bytes.u64(segment, offset + DPTR_OFFSET);
    }

    /** The second PRP entry. */
    public static long prp2(MemorySegment segment, long offset) {
        return Bytes.u64(segment, offset + DPTR_OFFSET + Long.BYTES);
    }

    public static int opcode(MemorySegment segment, long offset) {
        return Bytes.u8(segment, offset + OPCODE);
    }

    public static void opcode(MemorySegment segment, long offset, int value) {
        Bytes.u8(segment, offset + OPCODE, value);
    }

    /** Byte 1: PSDT in bits 7:6, FUSE in bits 1:0. A fabrics target accepts {@link #FLAGS_SGL} alone. */
    public static int flags(MemorySegment segment, long offset) {
        return Bytes.u8(segment, offset + FLAGS);
    }

    public static void flags(MemorySegment segment, long offset, int value) {
        Bytes.u8(segment, offset + FLAGS, value);
    }

    /** PRP or SGL for data transfer: 0 PRP, 1 SGL, 2 SGL with an SGL for metadata. */
    public static int psdt(MemorySegment segment, long offset) {
        return flags(segment, offset) >>> 6;
    }

    /** Fused operation: 0 normal, 1 first, 2 second. */
    public static int fuse(MemorySegment segment, long offset) {
        return flags(segment, offset) & 3;
    }

    /** The host's 16-bit mark of the command, echoed by its completion; every value can occur. */
    public static int commandId(MemorySegment segment, long offset) {
        return Bytes.u16(segment, offset + COMMAND_ID);
    }

    public static void commandId(MemorySegment segment, long offset, int value) {
        Bytes.u16(segment, offset + COMMAND_ID, value);
    }

    /** Namespace; Fabrics commands keep their type here instead, see {@link FabricsType}. */
    public static int nsid(MemorySegment segment, long offset) {
        return Bytes.u32(segment, offset + NSID);
    }

    public static void nsid(MemorySegment segment, long offset, int value) {
        Bytes.u32(segment, offset + NSID, value);
    }

    public static int cdw2(MemorySegment segment, long offset) {
        return Bytes.u32(segment, offset + CDW2);
    }

    public static int cdw3(MemorySegment segment, long offset) {
        return Bytes.u32(segment, offset + CDW2 + 4);
    }

    public static int cdw10(MemorySegment segment, long offset) {
        return Bytes.u32(segment, offset + CDW10);
    }

    public static void cdw10(MemorySegment segment, long offset, int value) {
        Bytes.u32(segment, offset + CDW10, value);
    }

    public static int cdw11(MemorySegment segment, long offset) {
        return Bytes.u32(segment, offset + CDW10 + 4);
    }

    public static void cdw11(MemorySegment segment, long offset, int value) {
        Bytes.u32(segment, offset + CDW10 + 4, value);
    }

    public static int cdw12(MemorySegment segment, long offset) {
        return Bytes.u32(segment, offset + CDW10 + 8);
    }

    public static void cdw12(MemorySegment segment, long offset, int value) {
        Bytes.u32(segment, offset + CDW10 + 8, value);
    }

    public static int cdw13(MemorySegment segment, long offset) {
        return Bytes.u32(segment, offset + CDW10 + 12);
    }

    public static void cdw13(MemorySegment segment, long offset, int value) {
        Bytes.u32(segment, offset + CDW10 + 12, value);
    }

    public static int cdw14(MemorySegment segment, long offset) {
        return Bytes.u32(segment, offset + CDW10 + 16);
    }

    public static void cdw14(MemorySegment segment, long offset, int value) {
        Bytes.u32(segment, offset + CDW10 + 16, value);
    }

    public static int cdw15(MemorySegment segment, long offset) {
        return Bytes.u32(segment, offset + CDW10 + 20);
    }

    public static void cdw15(MemorySegment segment, long offset, int value) {
        Bytes.u32(segment, offset + CDW10 + 20, value);
    }
}

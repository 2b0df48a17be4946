package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;

/**
 * A 16-byte SGL descriptor, read and written in place (NVMe Base 2.0, section 4.1.2). A command on RDMA has exactly one, its data
 * pointer at {@link SubmissionQueueEntry#DPTR_OFFSET}; {@code offset} is where the descriptor begins. Nothing is allocated.
 *
 * <p>A keyed data block (key 4 bytes, length 24 bits) names the host's registered memory; a data block with the sub type Offset
 * names data in the capsule, and with an address, over PCIe, memory of the host or the controller; a keyed data block of zeroes means that
 * there is no data.
 */
public final class SglDescriptor {
    public static final int SIZE_BYTES = 16;
    /** The most that a keyed data block describes, in bytes. */
    public static final int MAX_KEYED_LENGTH_BYTES = 0xff_ffff;

    /** Descriptor types, bits 7:4 of the identifier. */
    public static final int TYPE_DATA_BLOCK = 0;

    public static final int TYPE_BIT_BUCKET = 1;
    public static final int TYPE_SEGMENT = 2;
    public static final int TYPE_LAST_SEGMENT = 3;
    public static final int TYPE_KEYED_DATA_BLOCK = 4;
    public static final int TYPE_TRANSPORT_DATA_BLOCK = 5;
    public static final int TYPE_VENDOR = 0xf;

    /** Descriptor sub types, bits 3:0 of the identifier. */
    public static final int SUBTYPE_ADDRESS = 0;

    public static final int SUBTYPE_OFFSET = 1;
    /** On RDMA, of a keyed data block: the response is to invalidate the key. */
    public static final int SUBTYPE_INVALIDATE_KEY = 0xf;

    /** Identifier of a data block at an address, as over PCIe. */
    public static final int IDENTIFIER_DATA_BLOCK = 0x00;
    /** Identifier of a keyed data block. */
    public static final int IDENTIFIER_KEYED = 0x40;
    /** Identifier of a keyed data block whose key the response is to invalidate. */
    public static final int IDENTIFIER_KEYED_INVALIDATE = 0x4f;
    /** Identifier of a data block in the capsule. */
    public static final int IDENTIFIER_IN_CAPSULE = 0x01;

    private static final int ADDRESS = 0;
    private static final int LENGTH = 8;
    private static final int KEY = 11;
    private static final int IDENTIFIER = 15;

    private SglDescriptor() {}

    /** Writes the descriptor of a command without data. */
    public static void writeNone(MemorySegment segment, long offset) {
        Bytes.u64(segment, offset + ADDRESS, 0);
        Bytes.u64(segment, offset + LENGTH, (long) IDENTIFIER_KEYED << 56);
    }

    /**
     * Writes a descriptor of registered memory.
     *
     * @param lengthBytes 0 to {@link #MAX_KEYED_LENGTH_BYTES}
     * @param invalidate whether the response is to invalidate the key
     */
    public static void writeKeyed(
            MemorySegment segment, long offset, long address, int lengthBytes, int key, boolean invalidate) {
        assert lengthBytes >>> 24 == 0 : lengthBytes;
        int identifier = invalidate ? IDENTIFIER_KEYED_INVALIDATE : IDENTIFIER_KEYED;
        Bytes.u64(segment, offset + ADDRESS, address);
        Bytes.u64(
                segment,
                offset + LENGTH,
                (lengthBytes & MAX_KEYED_LENGTH_BYTES) | (key & 0xffff_ffffL) << 24 | (long) identifier << 56);
    }

    /**
     * Writes a descriptor of data in the capsule.
     *
     * @param dataOffset where the data begins, counted from the controller's ICDOFF behind the command: 0
     */
    public static void writeInCapsule(MemorySegment segment, long offset, long dataOffset, int lengthBytes) {
        writeDataBlock(segment, offset, dataOffset, lengthBytes, IDENTIFIER_IN_CAPSULE);
    }

    /**
     * Writes a descriptor of memory at an address.
     *
     * @param lengthBytes unsigned
     */
    public static void writeDataBlock(MemorySegment segment, long offset, long address, int lengthBytes) {
        writeDataBlock(segment, offset, address, lengthBytes, IDENTIFIER_DATA_BLOCK);
    }

    private static void writeDataBlock(
            MemorySegment segment, long offset, long address, int lengthBytes, int identifier) {
        Bytes.u64(segment, offset + ADDRESS, address);
        Bytes.u64(segment, offset + LENGTH, (lengthBytes & 0xffff_ffffL) | (long) identifier << 56);
    }

    /** Type in bits 7:4, sub type in bits 3:0. */
    public static int identifier(MemorySegment segment, long offset) {
        return Bytes.u8(segment, offset + IDENTIFIER);
    }

    public static int type(MemorySegment segment, long offset) {
        return identifier(segment, offset) >>> 4;
    }

    public static int subtype(MemorySegment segment, long offset) {
        return identifier(segment, offset) & 0xf;
    }

    /** Whether this is a keyed data block of either sub type; one of zeroes says that there is no data. */
    public static boolean isKeyed(MemorySegment segment, long offset) {
        int identifier = identifier(segment, offset);
        return identifier == IDENTIFIER_KEYED || identifier == IDENTIFIER_KEYED_INVALIDATE;
    }

    /** Whether this is a keyed data block whose key the response is to invalidate. */
    public static boolean isInvalidate(MemorySegment segment, long offset) {
        return identifier(segment, offset) == IDENTIFIER_KEYED_INVALIDATE;
    }

    public static boolean isInCapsule(MemorySegment segment, long offset) {
        return identifier(segment, offset) == IDENTIFIER_IN_CAPSULE;
    }

    /** The host's address, or the offset in the capsule, unsigned. */
    public static long address(MemorySegment segment, long offset) {
        return Bytes.u64(segment, offset + ADDRESS);
    }

    /** The key of a keyed data block. */
    public static int key(MemorySegment segment, long offset) {
        return Bytes.u32(segment, offset + KEY);
    }

    /** The length in bytes: 24 bits of a keyed data block, 32 bits of every other type; never negative. */
    public static long lengthBytes(MemorySegment segment, long offset) {
        long length = Bytes.u32(segment, offset + LENGTH) & 0xffff_ffffL;
        return type(segment, offset) == TYPE_KEYED_DATA_BLOCK ? length & MAX_KEYED_LENGTH_BYTES : length;
    }

    /**
     * Checks what a target must before it uses a descriptor: the type is one that this transport has, and data in the capsule lies
     * within it.
     *
     * @param inCapsuleBytes bytes that came behind the command, from where data offsets count
     * @return {@link NvmeStatus#SUCCESS}, or the status (with DNR) to complete the command with
     */
    public static int check(MemorySegment segment, long offset, long inCapsuleBytes) {
        int identifier = identifier(segment, offset);
        if (identifier == IDENTIFIER_KEYED || identifier == IDENTIFIER_KEYED_INVALIDATE) {
            return NvmeStatus.SUCCESS;
        }
        if (identifier != IDENTIFIER_IN_CAPSULE) {
            return NvmeStatus.SGL_DESCRIPTOR_TYPE_INVALID | NvmeStatus.DNR;
        }
        long dataOffset = address(segment, offset);
        if (dataOffset < 0
                || dataOffset > inCapsuleBytes
                || lengthBytes(segment, offset) > inCapsuleBytes - dataOffset) {
            return NvmeStatus.SGL_OFFSET_INVALID | NvmeStatus.DNR;
        }
        return NvmeStatus.SUCCESS;
    }
}

package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;

/**
 * Property Get and Property Set (NVMe Base 2.0), which read and write {@link ControllerProperties}; in place,
 * {@code offset} is where the submission queue entry begins. The value of a Property Get is the completion's result.
 */
public final class PropertyCommand {
    private static final int ATTRIB = 40;
    private static final int OFST = 44;
    private static final int VALUE = 48;

    private PropertyCommand() {}

    /**
     * Writes a whole Property Get.
     *
     * @param property where the property is, see {@link ControllerProperties}
     * @param sizeBytes 4 or 8
     */
    public static void writeGet(MemorySegment segment, long offset, int commandId, int property, int sizeBytes) {
        write(segment, offset, commandId, FabricsType.PROPERTY_GET, property, sizeBytes);
    }

    /** Writes a whole Property Set. */
    public static void writeSet(
            MemorySegment segment, long offset, int commandId, int property, int sizeBytes, long value) {
        write(segment, offset, commandId, FabricsType.PROPERTY_SET, property, sizeBytes);
        Bytes.u64(segment, offset + VALUE, value);
    }

    private static void write(
            MemorySegment segment, long offset, int commandId, int fctype, int property, int sizeBytes) {
        SubmissionQueueEntry.write(segment, offset, AdminOpcode.FABRICS, commandId, 0);
        FabricsType.fctype(segment, offset, fctype);
        Bytes.u8(segment, offset + ATTRIB, sizeBytes == Long.BYTES ? 1 : 0);
        Bytes.u32(segment, offset + OFST, property);
    }

    /** Size of the property: 4 or 8 bytes, or 0 if the command says something undefined. */
    public static int sizeBytes(MemorySegment segment, long offset) {
        return switch (Bytes.u8(segment, offset + ATTRIB) & 7) {
            case 0 -> Integer.BYTES;
            case 1 -> Long.BYTES;
            default -> 0;
        };
    }

    /** Where the property is, see {@link ControllerProperties}; any 32 bits. */
    public static int property(MemorySegment segment, long offset) {
        return Bytes.u32(segment, offset + OFST);
    }

    /** What a Property Set writes; of a 4-byte property the low half. */
    public static long value(MemorySegment segment, long offset) {
        return Bytes.u64(segment, offset + VALUE);
    }
}

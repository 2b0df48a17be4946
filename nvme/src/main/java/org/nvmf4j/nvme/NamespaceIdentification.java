package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The namespace identification descriptors of a namespace, CNS 03h (NVMe Base 2.0): by what hosts know it on every path.
 *
 * @param eui64 the first byte the most significant; 0 for none
 * @param nguid {@link Nguid#NONE} for none
 * @param uuid null for none
 * @param csi I/O command set; {@link #NO_CSI} for none
 */
public record NamespaceIdentification(
        long eui64, Nguid nguid, @Nullable UUID uuid, int csi) {
    public static final int SIZE_BYTES = 4096;
    public static final int NO_CSI = -1;

    private static final int NIDT_EUI64 = 1;
    private static final int NIDT_NGUID = 2;
    private static final int NIDT_UUID = 3;
    private static final int NIDT_CSI = 4;
    private static final int HEADER_BYTES = 4;

    /**
     * Reads 4096 bytes. Descriptors of unknown types are passed over; of several of one type the last counts.
     *
     * @throws NvmeFormatException if a descriptor is cut off, or of a length that its type does not have
     */
    public static NamespaceIdentification parse(MemorySegment segment, long offset) throws NvmeFormatException {
        NamespaceIdentification result = new NamespaceIdentification(0, Nguid.NONE, null, NO_CSI);
        int at = 0;
        while (at <= SIZE_BYTES - HEADER_BYTES) {
            int type = Bytes.u8(segment, offset + at);
            int length = Bytes.u8(segment, offset + at + 1);
            if (length == 0) {
                break;
            }
            at += HEADER_BYTES;
            int expected = lengthOf(type);
            if (length > SIZE_BYTES - at || (expected != 0 && length != expected)) {
                throw new NvmeFormatException(
                        "namespace identification descriptor of type " + type + " with length " + length);
            }
            result = result.with(type, segment, offset + at);
            at += length;
        }
        return result;
    }

    private static int lengthOf(int type) {
        return switch (type) {
            case NIDT_EUI64 -> Long.BYTES;
            case NIDT_NGUID -> Nguid.SIZE_BYTES;
            case NIDT_UUID -> 16;
            case NIDT_CSI -> 1;
            default -> 0;
        };
    }

    private NamespaceIdentification with(int type, MemorySegment segment, long at) {
        return switch (type) {
            case NIDT_EUI64 -> new NamespaceIdentification(segment.get(Bytes.BIG_ENDIAN_LONG, at), nguid, uuid, csi);
            case NIDT_NGUID -> new NamespaceIdentification(eui64, Nguid.parse(segment, at), uuid, csi);
            case NIDT_UUID -> new NamespaceIdentification(eui64, nguid, Bytes.uuid(segment, at), csi);
            case NIDT_CSI -> new NamespaceIdentification(eui64, nguid, uuid, Bytes.u8(segment, at));
            default -> this;
        };
    }

    /** Writes all 4096 bytes, with a descriptor of what there is. */
    public void write(MemorySegment segment, long offset) {
        segment.asSlice(offset, SIZE_BYTES).fill((byte) 0);
        long at = offset;
        if (eui64 != 0) {
            at = header(segment, at, NIDT_EUI64);
            segment.set(Bytes.BIG_ENDIAN_LONG, at, eui64);
            at += Long.BYTES;
        }
        if (!nguid.equals(Nguid.NONE)) {
            at = header(segment, at, NIDT_NGUID);
            nguid.write(segment, at);
            at += Nguid.SIZE_BYTES;
        }
        if (uuid != null) {
            at = header(segment, at, NIDT_UUID);
            Bytes.uuid(segment, at, uuid);
            at += 16;
        }
        if (csi != NO_CSI) {
            at = header(segment, at, NIDT_CSI);
            Bytes.u8(segment, at, csi);
        }
    }

    private static long header(MemorySegment segment, long at, int type) {
        Bytes.u8(segment, at, type);
        Bytes.u8(segment, at + 1, lengthOf(type));
        return at + HEADER_BYTES;
    }
}

package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;
import java.util.UUID;

/**
 * The data of a Connect command, 1024 bytes (NVMe Base 2.0).
 *
 * @param hostId the host's identifier, the same on all its connections
 * @param cntlid on the admin queue {@link #CNTLID_DYNAMIC}, on an I/O queue the controller that the admin queue was given
 * @param subnqn the subsystem
 * @param hostnqn the host
 */
public record ConnectData(UUID hostId, int cntlid, String subnqn, String hostnqn) {
    public static final int SIZE_BYTES = 1024;
    /** The target chooses the controller. */
    public static final int CNTLID_DYNAMIC = 0xffff;
    /** The highest controller id that a target gives. */
    public static final int CNTLID_MAX = 0xffef;

    /** Where fields are, for {@link ConnectCommand#invalidParameter}. */
    public static final int HOSTID_OFFSET = 0;

    public static final int CNTLID_OFFSET = 16;
    public static final int SUBNQN_OFFSET = 256;
    public static final int HOSTNQN_OFFSET = 512;

    /**
     * Reads 1024 bytes. Every content is accepted: whether names are well-formed, {@link Nqn#isValid} says.
     *
     * @throws IndexOutOfBoundsException if the segment ends before
     */
    public static ConnectData parse(MemorySegment segment, long offset) {
        return new ConnectData(
                Bytes.uuid(segment, offset + HOSTID_OFFSET),
                Bytes.u16(segment, offset + CNTLID_OFFSET),
                Bytes.text(segment, offset + SUBNQN_OFFSET, Nqn.FIELD_BYTES),
                Bytes.text(segment, offset + HOSTNQN_OFFSET, Nqn.FIELD_BYTES));
    }

    /** Writes all 1024 bytes. */
    public void write(MemorySegment segment, long offset) {
        segment.asSlice(offset, SIZE_BYTES).fill((byte) 0);
        Bytes.uuid(segment, offset + HOSTID_OFFSET, hostId);
        Bytes.u16(segment, offset + CNTLID_OFFSET, cntlid);
        Bytes.text(segment, offset + SUBNQN_OFFSET, Nqn.FIELD_BYTES, subnqn, '\0');
        Bytes.text(segment, offset + HOSTNQN_OFFSET, Nqn.FIELD_BYTES, hostnqn, '\0');
    }
}

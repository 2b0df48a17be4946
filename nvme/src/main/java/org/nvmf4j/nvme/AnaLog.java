package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * The Asymmetric Namespace Access log page (NVMe Base 2.0).
 *
 * @param changeCount of the log, unsigned
 * @param groups at most 65,535
 */
public record AnaLog(long changeCount, List<Group> groups) {
    public static final int HEADER_BYTES = 16;
    /** LSP of Get Log Page: groups without their namespaces. */
    public static final int LSP_GROUPS_ONLY = 1;

    public static final int STATE_OPTIMIZED = 1;
    public static final int STATE_NON_OPTIMIZED = 2;
    public static final int STATE_INACCESSIBLE = 3;
    public static final int STATE_PERSISTENT_LOSS = 4;
    public static final int STATE_CHANGE = 0xf;

    private static final int NGRPS = 8;

    public AnaLog {
        groups = List.copyOf(groups);
        if (groups.size() > 0xffff) {
            throw new IllegalArgumentException(groups.size() + " ANA groups, at most 65535");
        }
    }

    /**
     * An ANA group.
     *
     * @param groupId from 1
     * @param changeCount of the group, unsigned
     * @param state {@code STATE_...}
     * @param nsids its namespaces
     */
    public record Group(int groupId, long changeCount, int state, List<Integer> nsids) {
        public static final int HEADER_BYTES = 32;

        private static final int NNSIDS = 4;
        private static final int CHGCNT = 8;
        private static final int STATE = 16;

        public Group {
            nsids = List.copyOf(nsids);
        }

        /** How much this group takes in the log page. */
        public int sizeBytes() {
            return HEADER_BYTES + nsids.size() * Integer.BYTES;
        }

        private static Group parse(MemorySegment segment, long offset, long lengthBytes) throws NvmeFormatException {
            if (lengthBytes < HEADER_BYTES) {
                throw new NvmeFormatException("ANA log page ends within a group");
            }
            int groupId = Bytes.u32(segment, offset);
            long count = Bytes.u32(segment, offset + NNSIDS) & 0xffff_ffffL;
            if (count > (lengthBytes - HEADER_BYTES) / Integer.BYTES) {
                throw new NvmeFormatException("ANA log page ends within the " + count + " namespaces of group "
                        + Integer.toUnsignedString(groupId));
            }
            List<Integer> nsids = new ArrayList<>((int) count);
            for (long at = offset + HEADER_BYTES; nsids.size() < count; at += Integer.BYTES) {
                nsids.add(Bytes.u32(segment, at));
            }
            return new Group(
                    groupId, Bytes.u64(segment, offset + CHGCNT), Bytes.u8(segment, offset + STATE) & 0xf, nsids);
        }

        private void write(MemorySegment segment, long offset) {
            segment.asSlice(offset, HEADER_BYTES).fill((byte) 0);
            Bytes.u32(segment, offset, groupId);
            Bytes.u32(segment, offset + NNSIDS, nsids.size());
            Bytes.u64(segment, offset + CHGCNT, changeCount);
            Bytes.u8(segment, offset + STATE, state);
            for (int i = 0; i < nsids.size(); i++) {
                Bytes.u32(segment, offset + HEADER_BYTES + (long) i * Integer.BYTES, nsids.get(i));
            }
        }
    }

    /**
     * Reads a whole log page.
     *
     * @param lengthBytes bytes that there are from {@code offset}; more than the log page needs is fine
     * @throws NvmeFormatException if they are fewer than the groups need
     */
    public static AnaLog parse(MemorySegment segment, long offset, long lengthBytes) throws NvmeFormatException {
        if (lengthBytes < HEADER_BYTES) {
            throw new NvmeFormatException("ANA log page of " + lengthBytes + " bytes is shorter than its header");
        }
        int count = Bytes.u16(segment, offset + NGRPS);
        List<Group> groups = new ArrayList<>();
        long at = HEADER_BYTES;
        for (int i = 0; i < count; i++) {
            Group group = Group.parse(segment, offset + at, lengthBytes - at);
            groups.add(group);
            at += group.sizeBytes();
        }
        return new AnaLog(Bytes.u64(segment, offset), groups);
    }

    /** How much {@link #write} writes. */
    public int sizeBytes() {
        return HEADER_BYTES + groups.stream().mapToInt(Group::sizeBytes).sum();
    }

    /** Writes the whole log page. */
    public void write(MemorySegment segment, long offset) {
        Bytes.u64(segment, offset, changeCount);
        Bytes.u64(segment, offset + NGRPS, groups.size());
        long at = offset + HEADER_BYTES;
        for (Group group : groups) {
            group.write(segment, at);
            at += group.sizeBytes();
        }
    }

    /** The state in the standard's words. */
    public static String stateName(int state) {
        return switch (state) {
            case STATE_OPTIMIZED -> "optimized";
            case STATE_NON_OPTIMIZED -> "non-optimized";
            case STATE_INACCESSIBLE -> "inaccessible";
            case STATE_PERSISTENT_LOSS -> "persistent loss";
            case STATE_CHANGE -> "change";
            default -> "state " + state;
        };
    }
}

package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * Firmware Slot Information log page (NVMe Base 2.0). Setters return this structure.
 *
 * <p>Not safe for use by several threads.
 */
public final class FirmwareSlotLog extends DataStructure {
    public static final int SIZE_BYTES = 512;

    public static final int SLOTS = 7;

    private static final int FRS = 8;

    /** All zeroes. */
    public FirmwareSlotLog() {
        super(SIZE_BYTES);
    }

    private FirmwareSlotLog(MemorySegment segment, long offset) {
        super(SIZE_BYTES, segment, offset);
    }

    /**
     * A copy of {@value #SIZE_BYTES} bytes; every content is accepted.
     *
     * @throws IndexOutOfBoundsException if the segment ends before
     */
    public static FirmwareSlotLog parse(MemorySegment segment, long offset) {
        return new FirmwareSlotLog(segment, offset);
    }

    /** Active firmware info: active slot in bits 2:0, slot at the next reset in bits 6:4 or 0. */
    public int afi() {
        return u8(0);
    }

    public FirmwareSlotLog afi(int value) {
        u8(0, value);
        return this;
    }

    /** Firmware revision in slot 1 to 7; empty if there is none. */
    public String revision(int slot) {
        return text(FRS + 8 * Objects.checkIndex(slot - 1, SLOTS), 8);
    }

    public FirmwareSlotLog revision(int slot, String revision) {
        text(FRS + 8 * Objects.checkIndex(slot - 1, SLOTS), 8, revision, ' ');
        return this;
    }
}

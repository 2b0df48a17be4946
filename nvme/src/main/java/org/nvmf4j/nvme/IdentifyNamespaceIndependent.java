package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;

/**
 * I/O command set independent Identify Namespace, CNS 08h (NVMe Base 2.0). Accessors have the standard's abbreviations;
 * setters return this structure.
 *
 * <p>Not safe for use by several threads.
 */
public final class IdentifyNamespaceIndependent extends DataStructure {
    public static final int SIZE_BYTES = 4096;

    /** NSTAT: ready for media access; a Linux host waits for it. */
    public static final int NSTAT_READY = 1;

    /** All zeroes. */
    public IdentifyNamespaceIndependent() {
        super(SIZE_BYTES);
    }

    private IdentifyNamespaceIndependent(MemorySegment segment, long offset) {
        super(SIZE_BYTES, segment, offset);
    }

    /**
     * A copy of {@value #SIZE_BYTES} bytes; every content is accepted.
     *
     * @throws IndexOutOfBoundsException if the segment ends before
     */
    public static IdentifyNamespaceIndependent parse(MemorySegment segment, long offset) {
        return new IdentifyNamespaceIndependent(segment, offset);
    }

    /** Common namespace features. */
    public int nsfeat() {
        return u8(0);
    }

    public IdentifyNamespaceIndependent nsfeat(int value) {
        u8(0, value);
        return this;
    }

    /** Multi-path I/O and sharing: bit 0 shared. */
    public int nmic() {
        return u8(1);
    }

    public IdentifyNamespaceIndependent nmic(int value) {
        u8(1, value);
        return this;
    }

    /** Reservation capabilities. */
    public int rescap() {
        return u8(2);
    }

    public IdentifyNamespaceIndependent rescap(int value) {
        u8(2, value);
        return this;
    }

    /** Format progress indicator. */
    public int fpi() {
        return u8(3);
    }

    public IdentifyNamespaceIndependent fpi(int value) {
        u8(3, value);
        return this;
    }

    /** ANA group; 0 without ANA. */
    public int anagrpid() {
        return u32(4);
    }

    public IdentifyNamespaceIndependent anagrpid(int value) {
        u32(4, value);
        return this;
    }

    /** Namespace attributes: bit 0 write protected. */
    public int nsattr() {
        return u8(8);
    }

    public IdentifyNamespaceIndependent nsattr(int value) {
        u8(8, value);
        return this;
    }

    /** NVM set. */
    public int nvmsetid() {
        return u16(10);
    }

    public IdentifyNamespaceIndependent nvmsetid(int value) {
        u16(10, value);
        return this;
    }

    /** Endurance group. */
    public int endgid() {
        return u16(12);
    }

    public IdentifyNamespaceIndependent endgid(int value) {
        u16(12, value);
        return this;
    }

    /** Namespace status: {@link #NSTAT_READY}. */
    public int nstat() {
        return u8(14);
    }

    public IdentifyNamespaceIndependent nstat(int value) {
        u8(14, value);
        return this;
    }
}

package org.nvmf4j.pcie.nvme;

import java.lang.foreign.MemorySegment;

/**
 * A controller's registers, at the offsets of {@link org.nvmf4j.nvme.ControllerProperties}: its BAR 0, or a simulation. What has been
 * written before to memory that the device reads is there before a write here is. A device that has gone reads as all ones; one that somebody
 * else keeps from answering reads as 0, and does not see what is written.
 */
public interface NvmeRegisters {
    /** Of the BAR; what is behind its end cannot be reached. */
    long sizeBytes();

    int read32(int offset);

    long read64(int offset);

    void write32(int offset, int value);

    void write64(int offset, long value);

    /**
     * Copies to memory behind a BAR of the controller, at the same offset; it is there before a write here is.
     *
     * @param target mapped; on a device that has gone nothing happens
     */
    void copy(MemorySegment source, MemorySegment target, long offset, long lengthBytes);

    /** Has the device answer, whoever has kept it from that: the memory space bit of its configuration space. On one that has gone, nothing. */
    void answer();

    /** Lets the device read and write memory by itself, or stops it at once: the bus master bit of its configuration space. On one that has gone, nothing. */
    void busMaster(boolean allowed);
}

package org.nvmf4j.nvme;

import org.jspecify.annotations.Nullable;

/**
 * What CMBLOC and CMBSZ say of a controller memory buffer (NVMe Base 2.0, sections 3.1.3.12 and 3.1.3.13).
 *
 * @param bar the base address register that it lies behind, 0 or 2 to 5
 * @param offsetBytes from the start of that BAR
 * @param submissionQueues whether submission queues may lie in it
 * @param completionQueues whether completion queues may
 * @param lists whether PRP lists and SGL segments may
 * @param readData whether data that the controller sends, that of reads, may (RDS)
 * @param writeData whether data that the controller fetches, that of writes, may (WDS)
 */
public record ControllerMemoryBuffer(
        int bar,
        long offsetBytes,
        long sizeBytes,
        boolean submissionQueues,
        boolean completionQueues,
        boolean lists,
        boolean readData,
        boolean writeData) {
    private static final int MAX_SIZE_UNITS = 6;

    /** The buffer, or null if there is none. */
    public static @Nullable ControllerMemoryBuffer parse(int cmbloc, int cmbsz) throws NvmeFormatException {
        long units = Integer.toUnsignedLong(cmbsz) >>> 12;
        if (units == 0) {
            return null;
        }
        int sizeUnits = cmbsz >>> 8 & 0xf;
        int bar = cmbloc & 7;
        if (sizeUnits > MAX_SIZE_UNITS || bar == 1 || bar > 5) {
            throw new NvmeFormatException(
                    String.format("no controller memory buffer: CMBLOC 0x%x, CMBSZ 0x%x", cmbloc, cmbsz));
        }
        long unitBytes = 4096L << (4 * sizeUnits);
        return new ControllerMemoryBuffer(
                bar,
                (Integer.toUnsignedLong(cmbloc) >>> 12) * unitBytes,
                units * unitBytes,
                (cmbsz & 1) != 0,
                (cmbsz & (1 << 1)) != 0,
                (cmbsz & (1 << 2)) != 0,
                (cmbsz & (1 << 3)) != 0,
                (cmbsz & (1 << 4)) != 0);
    }

    /** Whether the data of reads and writes may pass through it. */
    public boolean takesData() {
        return readData && writeData;
    }
}

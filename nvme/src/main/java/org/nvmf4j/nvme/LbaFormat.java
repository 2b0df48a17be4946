package org.nvmf4j.nvme;

/**
 * An LBA format that a namespace can have (NVM Command Set 1.0).
 *
 * @param ms metadata bytes for each block
 * @param lbads block size as a power of two; 0 means that the format is not there
 * @param rp relative performance, 0 best to 3
 */
public record LbaFormat(int ms, int lbads, int rp) {
    public LbaFormat {
        if (ms >>> 16 != 0 || lbads >>> 8 != 0 || rp >>> 2 != 0) {
            throw new IllegalArgumentException("LBA format out of range: " + ms + ", " + lbads + ", " + rp);
        }
    }

    /** A format without metadata, of a block size that is a power of two from 512. */
    public static LbaFormat ofBlockSize(int blockSizeBytes) {
        if (blockSizeBytes < 512 || Integer.bitCount(blockSizeBytes) != 1) {
            throw new IllegalArgumentException(
                    "block size " + blockSizeBytes + " is not a power of two from 512; use 512 or 4096");
        }
        return new LbaFormat(0, Integer.numberOfTrailingZeros(blockSizeBytes), 0);
    }

    static LbaFormat of(int dword) {
        return new LbaFormat(dword & 0xffff, dword >>> 16 & 0xff, dword >>> 24 & 3);
    }

    int dword() {
        return ms | lbads << 16 | rp << 24;
    }

    /** Block size in bytes; 0 if no NVMe host can use the format, whose exponent is outside 9 to 31. */
    public long blockSizeBytes() {
        return lbads >= 9 && lbads <= 31 ? 1L << lbads : 0;
    }
}

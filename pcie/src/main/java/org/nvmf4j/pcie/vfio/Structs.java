package org.nvmf4j.pcie.vfio;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/** Fills and reads the structs of {@link Abi}, whose fields and capability chains may lie unaligned. */
final class Structs {
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;
    private static final int INFO_BYTES = 24;
    /** A device has six BARs, a VGA frame and a ROM; a chain of capabilities of some hundred bytes is the longest known. */
    private static final int MAX_INFO_BYTES = 1 << 20;

    private Structs() {}

    /** A struct of zeros but for its size, which all requests begin with. */
    static MemorySegment allocate(Arena arena, int sizeBytes) {
        MemorySegment struct = arena.allocate(sizeBytes, Long.BYTES);
        struct.set(INT, 0, sizeBytes);
        return struct;
    }

    static int getInt(MemorySegment struct, long offset) {
        return struct.get(INT, offset);
    }

    static void setInt(MemorySegment struct, long offset, int value) {
        struct.set(INT, offset, value);
    }

    static long getLong(MemorySegment struct, long offset) {
        return struct.get(LONG, offset);
    }

    static void setLong(MemorySegment struct, long offset, long value) {
        struct.set(LONG, offset, value);
    }

    /** What a container's IOMMU translates. Before Linux 5.4 it does not say: then all that fits 39 bits, which every IOMMU does. */
    static List<IovaSpace.Range> iovaRanges(Kernel kernel, int container) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment info = allocate(arena, INFO_BYTES);
            kernel.ioctl(container, Abi.Constants.IOMMU_GET_INFO, info);
            int size = getInt(info, Abi.VfioIommuType1Info.ARGSZ);
            if (size > INFO_BYTES) {
                if (size > MAX_INFO_BYTES) {
                    throw new IOException("VFIO wants to tell " + size + " bytes about the IOMMU");
                }
                info = allocate(arena, size);
                kernel.ioctl(container, Abi.Constants.IOMMU_GET_INFO, info);
            }
            long pageSizes = getLong(info, Abi.VfioIommuType1Info.IOVA_PGSIZES);
            if ((pageSizes & IovaSpace.PAGE_BYTES) == 0) {
                throw new IOException(String.format("the IOMMU has no pages of 4 KiB, only 0x%x", pageSizes));
            }
            List<IovaSpace.Range> ranges = new ArrayList<>();
            if ((getInt(info, Abi.VfioIommuType1Info.FLAGS) & Abi.Constants.IOMMU_INFO_CAPS) != 0) {
                addRanges(info, ranges);
            }
            return ranges.isEmpty() ? List.of(new IovaSpace.Range(0, 1L << 39)) : ranges;
        } catch (IndexOutOfBoundsException e) {
            throw new IOException("VFIO says nonsense about the IOMMU: " + e.getMessage(), e);
        }
    }

    private static void addRanges(MemorySegment info, List<IovaSpace.Range> ranges) {
        int at = getInt(info, Abi.VfioIommuType1Info.CAP_OFFSET);
        for (int before = 0; at > before; before = at, at = getInt(info, (long) at + Abi.VfioInfoCapHeader.NEXT)) {
            if ((getInt(info, (long) at + Abi.VfioInfoCapHeader.ID) & 0xffff)
                    != Abi.Constants.IOMMU_TYPE1_INFO_CAP_IOVA_RANGE) {
                continue;
            }
            int count = getInt(info, (long) at + Abi.VfioIommuType1InfoCapIovaRange.NR_IOVAS);
            long range = (long) at + Abi.VfioIommuType1InfoCapIovaRange.IOVA_RANGES;
            for (int i = 0; i < count; i++, range += Abi.VfioIovaRange.SIZE) {
                long start = getLong(info, range + Abi.VfioIovaRange.START);
                long end = getLong(info, range + Abi.VfioIovaRange.END) + 1;
                if (start >= 0) {
                    // Above half of all addresses nobody needs any.
                    ranges.add(new IovaSpace.Range(start, end <= 0 ? Long.MAX_VALUE : end));
                }
            }
        }
    }
}

package org.nvmf4j.pcie.nvme;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.nvmf4j.nvme.CommandText;
import org.nvmf4j.nvme.IdentifyController;
import org.nvmf4j.nvme.SglDescriptor;
import org.nvmf4j.nvme.SubmissionQueueEntry;

/** How a simulated controller finds a command's data: by PRPs, or by an SGL data block. What the driver must not write is an error of the test. */
final class SimulatedPointers {
    private static final int PAGE_BYTES = 4096;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG.withOrder(ByteOrder.LITTLE_ENDIAN);

    private SimulatedPointers() {}

    /** The memory at an address on the bus. */
    interface Bus {
        MemorySegment at(long address, long length);
    }

    /**
     * The memory that a command names.
     *
     * @param sgls of the controller
     */
    static List<MemorySegment> pieces(MemorySegment entry, long length, int sgls, Bus bus) {
        return SubmissionQueueEntry.psdt(entry, 0) == 0
                ? pages(entry, length, bus)
                : List.of(block(entry, length, sgls, bus));
    }

    /** The memory of an SGL data block, which must be all of the data. */
    private static MemorySegment block(MemorySegment entry, long length, int sgls, Bus bus) {
        long at = SubmissionQueueEntry.DPTR_OFFSET;
        long address = SglDescriptor.address(entry, at);
        if (SubmissionQueueEntry.flags(entry, 0) != SubmissionQueueEntry.FLAGS_SGL
                || SglDescriptor.identifier(entry, at) != SglDescriptor.IDENTIFIER_DATA_BLOCK
                || SglDescriptor.lengthBytes(entry, at) != length) {
            throw new AssertionError(length + " bytes by " + CommandText.describeSgl(entry, at));
        }
        if (sgls == IdentifyController.SGLS_DWORD_ALIGNED && ((address | length) & 3) != 0) {
            throw new AssertionError(String.format("%d bytes at 0x%x by an SGL", length, address));
        }
        return bus.at(address, length);
    }

    /** The memory that PRPs name, page by page. */
    private static List<MemorySegment> pages(MemorySegment entry, long length, Bus bus) {
        List<MemorySegment> pieces = new ArrayList<>();
        long prp1 = SubmissionQueueEntry.prp1(entry, 0);
        long prp2 = SubmissionQueueEntry.prp2(entry, 0);
        if ((prp1 & 3) != 0) {
            throw new AssertionError(String.format("PRP entry 0x%x is odd", prp1));
        }
        long first = Math.min(length, PAGE_BYTES - (prp1 & (PAGE_BYTES - 1)));
        pieces.add(bus.at(prp1, first));
        long left = length - first;
        if (left > 0 && left <= PAGE_BYTES) {
            pieces.add(page(prp2, left, bus));
        } else {
            for (int i = 0; left > 0; i++) {
                long piece = Math.min(left, PAGE_BYTES);
                pieces.add(page(bus.at(prp2 + 8L * i, 8).get(LONG, 0), piece, bus));
                left -= piece;
            }
        }
        return pieces;
    }

    private static MemorySegment page(long address, long length, Bus bus) {
        if ((address & (PAGE_BYTES - 1)) != 0) {
            throw new AssertionError(String.format("PRP entry 0x%x is no page", address));
        }
        return bus.at(address, length);
    }
}

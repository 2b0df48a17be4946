package org.nvmf4j.pcie.nvme;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongFunction;
import org.nvmf4j.nvme.DatasetManagementCommand;
import org.nvmf4j.nvme.IdentifyControllerNvm;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.ReadWriteCommand;
import org.nvmf4j.nvme.SubmissionQueueEntry;

/** The blocks of a simulated controller, and what commands do with them. */
final class SimulatedMedium {
    private final byte[] bytes;
    private int flushes;
    private int forced;
    private long deallocatedBlocks;
    private volatile int commands;

    SimulatedMedium(int sizeBytes) {
        bytes = new byte[sizeBytes];
    }

    byte[] bytes() {
        return bytes;
    }

    int flushes() {
        return flushes;
    }

    /** Writes with force unit access. */
    int forced() {
        return forced;
    }

    long deallocatedBlocks() {
        return deallocatedBlocks;
    }

    /** Commands that were executed. */
    int commands() {
        return commands;
    }

    /**
     * Executes an I/O command.
     *
     * @param data the memory that it names, for a length
     * @param boundaryBlocks that nothing with data may cross; 0 for none
     * @param limits that other commands must keep
     */
    int execute(
            MemorySegment entry,
            LongFunction<List<MemorySegment>> data,
            long blockBytes,
            int boundaryBlocks,
            IdentifyControllerNvm limits) {
        int executed = commands;
        commands = executed + 1;
        int opcode = SubmissionQueueEntry.opcode(entry, 0);
        if (opcode == IoOpcode.FLUSH) {
            flushes++;
            return NvmeStatus.SUCCESS;
        }
        if (opcode == IoOpcode.DATASET_MANAGEMENT) {
            return deallocate(entry, data, blockBytes, limits.maxRangeBlocks());
        }
        if (!ReadWriteCommand.isInRange(entry, 0, bytes.length / blockBytes)) {
            return NvmeStatus.LBA_OUT_OF_RANGE | NvmeStatus.DNR;
        }
        long slba = ReadWriteCommand.slba(entry, 0);
        int blocks = ReadWriteCommand.blocks(entry, 0);
        if (opcode != IoOpcode.WRITE_ZEROES
                && boundaryBlocks > 0
                && slba / boundaryBlocks != (slba + blocks - 1) / boundaryBlocks) {
            throw new AssertionError(blocks + " blocks from " + slba + " cross a boundary of " + boundaryBlocks);
        }
        forced += opcode != IoOpcode.READ && ReadWriteCommand.fua(entry, 0) ? 1 : 0;
        MemorySegment on = MemorySegment.ofArray(bytes).asSlice(slba * blockBytes, blocks * blockBytes);
        if (opcode == IoOpcode.WRITE_ZEROES) {
            if (on.byteSize() > limits.maxWriteZeroesBytes()) {
                throw new AssertionError(on.byteSize() + " zeroes are more than WZSL " + limits.wzsl());
            }
            on.fill((byte) 0);
            return NvmeStatus.SUCCESS;
        }
        return transfer(opcode, on, data.apply(on.byteSize()));
    }

    private static int transfer(int opcode, MemorySegment on, List<MemorySegment> pieces) {
        long done = 0;
        for (MemorySegment piece : pieces) {
            MemorySegment part = on.asSlice(done, piece.byteSize());
            switch (opcode) {
                case IoOpcode.READ -> piece.copyFrom(part);
                case IoOpcode.WRITE -> part.copyFrom(piece);
                case IoOpcode.COMPARE -> {
                    if (part.mismatch(piece) >= 0) {
                        return NvmeStatus.COMPARE_FAILURE;
                    }
                }
                default -> {
                    return NvmeStatus.INVALID_OPCODE | NvmeStatus.DNR;
                }
            }
            done += piece.byteSize();
        }
        return NvmeStatus.SUCCESS;
    }

    private int deallocate(
            MemorySegment entry, LongFunction<List<MemorySegment>> data, long blockBytes, long maxRangeBlocks) {
        int ranges = DatasetManagementCommand.ranges(entry, 0);
        MemorySegment list = MemorySegment.ofArray(new byte[ranges * DatasetManagementCommand.RANGE_SIZE_BYTES]);
        long at = 0;
        for (MemorySegment piece : data.apply(list.byteSize())) {
            MemorySegment.copy(piece, 0, list, at, piece.byteSize());
            at += piece.byteSize();
        }
        MemorySegment aligned = MemorySegment.ofArray(new long[(int) (list.byteSize() / Long.BYTES)]);
        aligned.copyFrom(list);
        for (int i = 0; i < ranges; i++) {
            long range = (long) i * DatasetManagementCommand.RANGE_SIZE_BYTES;
            long slba = DatasetManagementCommand.rangeSlba(aligned, range);
            long blocks = DatasetManagementCommand.rangeBlocks(aligned, range);
            if (slba < 0 || blocks > bytes.length / blockBytes - slba) {
                return NvmeStatus.LBA_OUT_OF_RANGE | NvmeStatus.DNR;
            }
            if (blocks > maxRangeBlocks) {
                throw new AssertionError("a range of " + blocks + " blocks, of " + maxRangeBlocks + " at most");
            }
            deallocatedBlocks += blocks;
            Arrays.fill(bytes, (int) (slba * blockBytes), (int) ((slba + blocks) * blockBytes), (byte) 0);
        }
        return NvmeStatus.SUCCESS;
    }

    /** A copy of a part. */
    byte[] at(long offset, int length) {
        return MemorySegment.ofArray(bytes).asSlice(offset, length).toArray(ValueLayout.JAVA_BYTE);
    }
}

package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import org.nvmf4j.nvme.IdentifyController;
import org.nvmf4j.nvme.IdentifyControllerNvm;
import org.nvmf4j.nvme.IdentifyNamespace;
import org.nvmf4j.nvme.LbaFormat;
import org.nvmf4j.nvme.ReadWriteCommand;
import org.nvmf4j.target.spi.OptimalSizes;

/**
 * What a driver must know of a namespace.
 *
 * @param blockShift two to the power of this is the block size
 * @param maxTransferBlocks that one command moves at most
 * @param boundaryBlocks that a command with data had better not cross a multiple of; 0 for none
 * @param maxZeroesBlocks that one Write Zeroes has at most; 0 for a controller without the command
 * @param maxDeallocatedBlocks that one Dataset Management deallocates at most, in one range; 0 for a controller without the command
 */
record NvmeNamespace(
        int nsid,
        long blocks,
        int blockShift,
        int maxTransferBlocks,
        int boundaryBlocks,
        boolean readOnly,
        boolean volatileWriteCache,
        int maxZeroesBlocks,
        long maxDeallocatedBlocks,
        boolean compares,
        OptimalSizes optimalSizes) {

    private static final long MAX_RANGE_BLOCKS = 0xffff_ffffL;

    /**
     * Takes a namespace as it was identified.
     *
     * @param who for messages
     * @param limits of the controller; zeroes if it tells of none
     * @param maxTransferBytes of the controller
     * @throws IOException with one line, if it is not active, or has a format or a size that cannot be exported
     */
    static NvmeNamespace of(
            String who,
            int nsid,
            IdentifyNamespace page,
            IdentifyController controller,
            IdentifyControllerNvm limits,
            long maxTransferBytes)
            throws IOException {
        if (!page.isActive()) {
            throw new IOException(who + " is not there any more: it was detached or deleted just now");
        }
        LbaFormat format = page.lbaFormat();
        if (format.ms() != 0 || page.dps() != 0) {
            throw new IOException(who + " has " + format.ms() + " bytes of metadata with each block"
                    + (page.dps() == 0 ? "" : " and protection information")
                    + ", which cannot be exported; nvme format with another LBA format erases it and changes that");
        }
        long block = format.blockSizeBytes();
        if (block != 512 && block != 4096) {
            throw new IOException(who + " has blocks of " + block
                    + " bytes; only 512 and 4096 can be exported; nvme format erases it and changes that");
        }
        int shift = Long.numberOfTrailingZeros(block);
        if (page.nsze() < 0 || page.nsze() > Long.MAX_VALUE >>> shift) {
            throw new IOException(who + " has " + Long.toUnsignedString(page.nsze()) + " blocks of " + block
                    + " bytes; a size of 8 EiB or more cannot be exported");
        }
        int maxTransferBlocks = blocks(maxTransferBytes, shift);
        int oncs = controller.oncs();
        return new NvmeNamespace(
                nsid,
                page.nsze(),
                shift,
                maxTransferBlocks,
                page.noiob(),
                (page.nsattr() & IdentifyNamespace.NSATTR_WRITE_PROTECTED) != 0,
                (controller.vwc() & IdentifyController.VWC_PRESENT) != 0,
                maxZeroesBlocks(oncs, limits, maxTransferBlocks, shift),
                maxDeallocatedBlocks(oncs, limits),
                (oncs & IdentifyController.ONCS_COMPARE) != 0,
                sizes(page, block));
    }

    private static int blocks(long bytes, int shift) {
        return (int) Math.min(bytes >>> shift, ReadWriteCommand.MAX_BLOCKS);
    }

    /** MDTS is no limit of commands without data, but takes the place of one that a controller does not tell, as in Linux. */
    private static int maxZeroesBlocks(int oncs, IdentifyControllerNvm limits, int maxTransferBlocks, int shift) {
        if (limits.wzsl() != 0) {
            return blocks(limits.maxWriteZeroesBytes(), shift);
        }
        return (oncs & IdentifyController.ONCS_WRITE_ZEROES) != 0 ? maxTransferBlocks : 0;
    }

    /** Of what is beyond its limits a controller deallocates nothing, and says success. */
    private static long maxDeallocatedBlocks(int oncs, IdentifyControllerNvm limits) {
        boolean told = limits.maxRangeBlocks() != Long.MAX_VALUE;
        return told || (oncs & IdentifyController.ONCS_DATASET_MANAGEMENT) != 0
                ? Math.min(limits.maxRangeBlocks(), MAX_RANGE_BLOCKS)
                : 0;
    }

    boolean writesZeroes() {
        return maxZeroesBlocks > 0;
    }

    boolean deallocates() {
        return maxDeallocatedBlocks > 0;
    }

    private static OptimalSizes sizes(IdentifyNamespace page, long block) {
        boolean meant = (page.nsfeat() & IdentifyNamespace.NSFEAT_OPTIMAL_PERFORMANCE) != 0;
        return new OptimalSizes(
                page.noiob() * block,
                meant ? (page.npwg() + 1) * block : 0,
                meant ? (page.npwa() + 1) * block : 0,
                meant ? (page.npdg() + 1) * block : 0,
                meant ? (page.npda() + 1) * block : 0,
                meant ? (page.nows() + 1) * block : 0);
    }
}

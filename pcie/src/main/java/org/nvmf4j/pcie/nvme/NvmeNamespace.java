package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import org.nvmf4j.nvme.IdentifyController;
import org.nvmf4j.nvme.IdentifyNamespace;
import org.nvmf4j.nvme.LbaFormat;
import org.nvmf4j.nvme.ReadWriteCommand;
import org.nvmf4j.target.spi.OptimalSizes;

/**
 * What a driver must know of a namespace.
 *
 * @param blockShift two to the power of this is the block size
 * @param maxTransferBlocks that one command moves at most
 * @param boundaryBlocks that a command had better not cross a multiple of; 0 for none
 */
record NvmeNamespace(
        int nsid,
        long blocks,
        int blockShift,
        int maxTransferBlocks,
        int boundaryBlocks,
        boolean readOnly,
        boolean volatileWriteCache,
        boolean writesZeroes,
        boolean deallocates,
        boolean compares,
        OptimalSizes optimalSizes) {

    /**
     * Takes a namespace as it was identified.
     *
     * @param who for messages
     * @param maxTransferBytes of the controller
     * @throws IOException with one line, if it has a format that cannot be exported
     */
    static NvmeNamespace of(
            String who, int nsid, IdentifyNamespace page, IdentifyController controller, long maxTransferBytes)
            throws IOException {
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
        int oncs = controller.oncs();
        return new NvmeNamespace(
                nsid,
                page.nsze(),
                shift,
                (int) Math.min(maxTransferBytes >>> shift, ReadWriteCommand.MAX_BLOCKS),
                page.noiob(),
                (page.nsattr() & IdentifyNamespace.NSATTR_WRITE_PROTECTED) != 0,
                (controller.vwc() & IdentifyController.VWC_PRESENT) != 0,
                (oncs & IdentifyController.ONCS_WRITE_ZEROES) != 0,
                (oncs & IdentifyController.ONCS_DATASET_MANAGEMENT) != 0,
                (oncs & IdentifyController.ONCS_COMPARE) != 0,
                sizes(page, block));
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

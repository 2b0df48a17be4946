package org.nvmf4j.target.spi;

import java.io.IOException;

/** Takes NVMe drives behind PCI Express for this process. Thread-safe. */
public interface DriveOpener {
    /**
     * Opens a namespace of a drive.
     *
     * @param pciAddress as {@code 0000:04:00.0}
     * @param nsid on the drive; 0 for the only one that there is
     * @param useCmbSqs whether its submission queues are to be in the controller's memory buffer, as far as there is room
     * @throws IOException with one line that says what is in the way and what to do
     */
    Backend open(String pciAddress, int nsid, boolean useCmbSqs) throws IOException;
}

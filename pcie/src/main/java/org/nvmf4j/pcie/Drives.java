package org.nvmf4j.pcie;

import java.util.function.Consumer;
import org.nvmf4j.pcie.nvme.NvmeDrives;
import org.nvmf4j.pcie.vfio.VfioDrives;
import org.nvmf4j.target.spi.DriveOpener;

/** The NVMe drives of this machine that a process can have for itself. */
public final class Drives {
    private Drives() {}

    /**
     * Those that are bound to vfio-pci.
     *
     * @param offer hears of the memory buffer of each that has one, before the drive's first namespace is open
     */
    public static DriveOpener throughVfio(Consumer<CmbPeerMemory> offer) {
        return new NvmeDrives(new VfioDrives(offer));
    }
}

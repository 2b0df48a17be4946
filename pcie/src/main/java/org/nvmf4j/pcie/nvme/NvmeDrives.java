package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.nvmf4j.pcie.PciAddress;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.target.spi.DriveOpener;

/**
 * The drives that a process has for itself, each from the first backend of one of its namespaces to the last, or until it goes: one that
 * comes back at its address is another drive, whatever is left of the first. Thread-safe.
 */
public final class NvmeDrives implements DriveOpener {
    /** Takes a function for this process. */
    public interface Opener {
        /**
         * Opens it.
         *
         * @throws IOException with one line that says what is in the way and what to do
         */
        NvmeHardware open(PciAddress address) throws IOException;
    }

    private final Opener opener;
    private final boolean threads;
    private final Map<PciAddress, NvmeDrive> drives = new HashMap<>();

    public NvmeDrives(Opener opener) {
        this(opener, true);
    }

    /**
     * Drives that are looked after here or by the caller.
     *
     * @param threads whether each has a thread for that
     */
    NvmeDrives(Opener opener, boolean threads) {
        this.opener = opener;
        this.threads = threads;
    }

    @Override
    public synchronized Backend open(String pciAddress, int nsid, boolean useCmbSqs) throws IOException {
        PciAddress address = PciAddress.parse(pciAddress);
        NvmeDrive drive = drives.get(address);
        if (drive != null && !drive.isGivenBack()) {
            return drive.open(nsid, useCmbSqs);
        }
        drive = NvmeDrive.start(address, opener.open(address), this::closed);
        drives.put(address, drive);
        try {
            NvmeBackend backend = drive.open(nsid, useCmbSqs);
            if (threads) {
                drive.startControl();
            }
            return backend;
        } catch (IOException | RuntimeException e) {
            drive.release(nsid);
            throw e;
        }
    }

    private synchronized void closed(NvmeDrive drive) {
        drives.remove(drive.address(), drive);
    }
}

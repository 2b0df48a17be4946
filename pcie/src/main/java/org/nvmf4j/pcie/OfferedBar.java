package org.nvmf4j.pcie;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** A BAR that the user offers, whatever comes of its device: one that was plugged in again has new memory. */
final class OfferedBar {
    private static final System.Logger LOGGER = System.getLogger("org.nvmf4j.pcie");

    private final BarRange range;
    private final Path folder;
    private BarPeerMemory memory;
    private String problem = "";

    /**
     * @param folder the function's in sysfs
     * @throws IOException if the BAR is not to be had; one line
     */
    OfferedBar(BarRange range, Path folder) throws IOException {
        this.range = range;
        this.folder = folder;
        memory = newMemory();
    }

    private BarPeerMemory newMemory() throws IOException {
        refuseBesidePool();
        return new BarPeerMemory(range, folder);
    }

    /** The pool may be part of the BAR, and the kernel knows nothing of us. */
    private void refuseBesidePool() throws IOException {
        if (Files.isDirectory(folder.resolve("p2pmem"))) {
            throw new IOException(range + ": the kernel has the memory of " + range.address()
                    + " in its p2pmem, perhaps this BAR; use p2pmem=" + range.address() + " without --allow-raw-bar");
        }
    }

    PciAddress address() {
        return range.address();
    }

    /** Refuses two offers of the same bytes, one of which would overwrite the other. */
    void refuseOverlap(OfferedBar other) throws IOException {
        if (memory.overlaps(other.memory)) {
            throw new IOException(other.range + " and " + range + " overlap; offer each byte of a BAR once");
        }
    }

    /** The memory, if it is there now; a warning says once why it is not although the device is. */
    Optional<BarPeerMemory> look() {
        String before = problem;
        problem = "";
        try {
            refuseBesidePool();
            if (!memory.isPresent() && Files.exists(folder)) {
                memory = newMemory();
            }
        } catch (IOException e) {
            problem = String.valueOf(e.getMessage());
            if (!problem.equals(before)) {
                LOGGER.log(Level.WARNING, "{0}", problem);
            }
        }
        return problem.isEmpty() && memory.isPresent() ? Optional.of(memory) : Optional.empty();
    }
}

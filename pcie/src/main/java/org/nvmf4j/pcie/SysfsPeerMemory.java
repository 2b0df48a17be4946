package org.nvmf4j.pcie;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.linux.LinuxException;
import org.nvmf4j.linux.SystemErrors;
import org.nvmf4j.target.spi.PeerBlock;
import org.nvmf4j.target.spi.PeerMemory;

/**
 * Memory that a driver gave to Linux's peer-to-peer pool, such as a controller memory buffer ({@code p2pmem} in a
 * device's folder of sysfs). A block is a mapping of {@code allocate} (Linux 6.2 and later, normally root only): its
 * length is taken from the pool and given back when it is unmapped. The kernel lets such memory take part in direct
 * block I/O, and refuses to pin it for long, as a hardware RDMA registration by address would.
 */
final class SysfsPeerMemory implements PeerMemory {
    private final PciAddress address;
    private final Path folder;
    private final Path p2pmem;
    private final DeviceFolder device;

    SysfsPeerMemory(PciAddress address, Path folder) {
        this.address = address;
        this.folder = folder;
        p2pmem = folder.resolve("p2pmem");
        device = new DeviceFolder(p2pmem);
    }

    @Override
    public String pciAddress() {
        return address.toString();
    }

    @Override
    public long sizeBytes() {
        return number("size");
    }

    /** Nothing where the kernel has no way to allocate. */
    @Override
    public long freeBytes() {
        return isAllocatable() ? number("available") : 0;
    }

    @Override
    public boolean isPublished() {
        return number("published") != 0;
    }

    @Override
    public boolean isPresent() {
        return device.isPresent();
    }

    @Override
    public String publisher() {
        String driver;
        try {
            driver =
                    "driver " + Files.readSymbolicLink(folder.resolve("driver")).getFileName();
        } catch (IOException e) {
            driver = "its driver";
        }
        return isAllocatable() ? driver : driver + " (not to be had from user space: that needs Linux 6.2)";
    }

    @Override
    public @Nullable PeerBlock allocate(long bytes) throws IOException {
        long mappedBytes = MappedBlock.pages(bytes);
        if (!isPresent()) {
            throw new IOException(address + " has vanished");
        }
        if (!isAllocatable()) {
            throw new IOException("the p2pmem of " + address + " cannot be allocated: that needs Linux 6.2");
        }
        try {
            return new MappedBlock(p2pmem.resolve("allocate"), 0, mappedBytes, bytes, () -> {});
        } catch (LinuxException e) {
            if (e.errno() == SystemErrors.ENOMEM) {
                return null;
            }
            throw e;
        }
    }

    private boolean isAllocatable() {
        return Files.exists(p2pmem.resolve("allocate"));
    }

    /** An attribute's number; 0 if it has gone. */
    private long number(String attribute) {
        if (!isPresent()) {
            return 0;
        }
        try {
            return Long.parseLong(Sysfs.readText(p2pmem.resolve(attribute)));
        } catch (IOException | NumberFormatException e) {
            return 0;
        }
    }
}

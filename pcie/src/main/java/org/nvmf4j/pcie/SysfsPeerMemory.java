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
    /** As far as physical addresses reach. */
    private static final long MAX_BYTES = 1L << 52;

    private final PciAddress address;
    private final Path folder;
    private final Path p2pmem;
    private final Path allocate;
    private final DeviceFolder device;

    SysfsPeerMemory(PciAddress address, Path folder) {
        this.address = address;
        this.folder = folder;
        p2pmem = folder.resolve("p2pmem");
        allocate = p2pmem.resolve("allocate");
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

    /** Nothing where we cannot allocate. */
    @Override
    public long freeBytes() {
        long available = need().isEmpty() ? number("available") : 0;
        return available <= sizeBytes() ? available : 0;
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
        String need = need();
        return need.isEmpty() ? driver : driver + " (not to be had from user space: that needs " + need + ")";
    }

    @Override
    public @Nullable PeerBlock allocate(long bytes) throws IOException {
        long mappedBytes = MappedBlock.pages(bytes);
        if (!isPresent()) {
            throw new IOException(address + " has vanished");
        }
        String need = need();
        if (!need.isEmpty()) {
            throw new IOException("the p2pmem of " + address + " cannot be allocated: that needs " + need);
        }
        try {
            return new MappedBlock(allocate, 0, mappedBytes, bytes, () -> {});
        } catch (LinuxException e) {
            if (e.errno() == SystemErrors.ENOMEM) {
                return null;
            }
            throw e;
        }
    }

    /** What we lack to allocate; empty if nothing. */
    private String need() {
        if (!Files.exists(allocate)) {
            return "Linux 6.2";
        }
        return Sysfs.isAccessible(allocate) ? "" : "root";
    }

    /** An attribute's number; 0 if it has gone, or can be no memory's. */
    private long number(String attribute) {
        if (!isPresent()) {
            return 0;
        }
        try {
            long number = Long.parseLong(Sysfs.readText(p2pmem.resolve(attribute)));
            return number >= 0 && number <= MAX_BYTES ? number : 0;
        } catch (IOException | NumberFormatException e) {
            return 0;
        }
    }
}

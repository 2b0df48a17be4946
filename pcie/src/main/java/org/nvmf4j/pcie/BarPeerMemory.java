package org.nvmf4j.pcie;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.linux.FileRangeLock;
import org.nvmf4j.pcie.ranges.FreeRanges;
import org.nvmf4j.target.spi.PeerBlock;
import org.nvmf4j.target.spi.PeerMemory;

/**
 * A part of a BAR, mapped from its {@code resource} file in sysfs (normally root only). It counts as published, for
 * the user has offered it. Blocks are whole pages, from the lowest place with room. The CPU reaches it, and so does what
 * takes bus addresses; the kernel refuses it for direct I/O and for pinning. From the first block to the last the range
 * of the file is locked, so that no two targets write to it.
 */
final class BarPeerMemory implements PeerMemory {
    private static final int IORESOURCE_MEM = 0x200;

    private final BarRange range;
    private final Path resource;
    private final long sizeBytes;
    private final DeviceFolder device;

    /** From the range's start. */
    private final FreeRanges free = new FreeRanges();

    /** Held while anything is taken, where files can be locked. */
    private @Nullable FileRangeLock lock;

    /**
     * @param folder the function's in sysfs
     * @throws IOException if there is no such BAR, it is not to be mapped, or it is too small; one line
     */
    BarPeerMemory(BarRange range, Path folder) throws IOException {
        this.range = range;
        resource = folder.resolve("resource" + range.bar());
        device = new DeviceFolder(resource);
        if (!device.isPresent()) {
            throw new IOException(range + ": "
                    + (Files.exists(folder)
                            ? noSuchBar(range, folder)
                            : "no PCI function " + range.address() + " in " + folder.getParent()));
        }
        if (!isMemory(folder.resolve("resource"), range.bar())) {
            throw new IOException(range + ": resource" + range.bar() + " is no memory but I/O ports");
        }
        long size = Files.size(resource);
        long room = size - range.offsetBytes();
        if (size < MappedBlock.PAGE_BYTES) {
            throw new IOException(range + ": resource" + range.bar() + " has only " + size
                    + " bytes, and only pages of " + MappedBlock.PAGE_BYTES + " can be mapped");
        }
        if (room < MappedBlock.PAGE_BYTES || range.lengthBytes() > room) {
            throw new IOException(range + ": resource" + range.bar() + " has only " + size + " bytes");
        }
        if (!Sysfs.isAccessible(resource)) {
            throw new IOException(range + ": resource" + range.bar() + " cannot be read and written; run as root");
        }
        sizeBytes = range.lengthBytes() == 0 ? room & -MappedBlock.PAGE_BYTES : range.lengthBytes();
        free.add(0, sizeBytes);
    }

    /**
     * Whether a BAR is for memory, by its line of {@code START END FLAGS}. Copies of a machine may lack the file.
     *
     * @param table the function's {@code resource} file
     */
    private static boolean isMemory(Path table, int bar) {
        try {
            String[] words = Sysfs.readText(table).lines().toList().get(bar).split(" ", -1);
            return (Long.decode(words[2]) & IORESOURCE_MEM) != 0;
        } catch (IOException | IndexOutOfBoundsException | NumberFormatException e) {
            return true;
        }
    }

    private static String noSuchBar(BarRange range, Path folder) {
        String there = IntStream.rangeClosed(0, BarRange.LAST_BAR)
                .mapToObj(bar -> "resource" + bar)
                .filter(name -> Files.exists(folder.resolve(name)))
                .collect(Collectors.joining(", "));
        return range.address() + " has no resource" + range.bar()
                + (there.isEmpty() ? ", nor any other BAR" : " but " + there);
    }

    @Override
    public String pciAddress() {
        return range.address().toString();
    }

    @Override
    public long sizeBytes() {
        return sizeBytes;
    }

    @Override
    public synchronized long freeBytes() {
        return device.isPresent() ? free.freeBytes() : 0;
    }

    @Override
    public boolean isPublished() {
        return true;
    }

    @Override
    public boolean isPresent() {
        return device.isPresent();
    }

    @Override
    public String publisher() {
        return "the user (" + range + ")";
    }

    @Override
    public @Nullable PeerBlock allocate(long bytes) throws IOException {
        long mappedBytes = MappedBlock.pages(bytes);
        if (!isPresent()) {
            throw new IOException(range.address() + " has vanished");
        }
        long start = take(mappedBytes);
        if (start < 0) {
            return null;
        }
        boolean mapped = false;
        try {
            PeerBlock block = new MappedBlock(
                    resource, range.offsetBytes() + start, mappedBytes, bytes, () -> giveBack(start, mappedBytes));
            mapped = true;
            return block;
        } finally {
            if (!mapped) {
                giveBack(start, mappedBytes);
            }
        }
    }

    private synchronized long take(long bytes) throws IOException {
        if (isAllFree() && bytes <= sizeBytes) {
            lock();
        }
        return free.take(bytes, MappedBlock.PAGE_BYTES, 0);
    }

    private boolean isAllFree() {
        return free.freeBytes() == sizeBytes;
    }

    private void lock() throws IOException {
        try {
            lock = FileRangeLock.tryLock(resource, range.offsetBytes(), sizeBytes);
        } catch (IOException e) {
            return; // what cannot be locked goes without, and what cannot be opened fails next
        }
        if (lock == null) {
            throw new IOException(range + ": in use by another process, or by another target in this process");
        }
    }

    private synchronized void giveBack(long start, long bytes) {
        free.add(start, start + bytes);
        FileRangeLock held = lock;
        if (isAllFree() && held != null) {
            lock = null;
            try {
                held.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** Whether both would give out the same bytes. */
    boolean overlaps(BarPeerMemory other) {
        return range.address().equals(other.range.address())
                && range.bar() == other.range.bar()
                && range.offsetBytes() - other.range.offsetBytes() < other.sizeBytes
                && other.range.offsetBytes() - range.offsetBytes() < sizeBytes;
    }
}

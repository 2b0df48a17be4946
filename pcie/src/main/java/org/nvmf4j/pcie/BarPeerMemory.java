package org.nvmf4j.pcie;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.target.spi.PeerBlock;
import org.nvmf4j.target.spi.PeerMemory;

/**
 * A part of a BAR, mapped from its {@code resource} file in sysfs (normally root only). It counts as published, for
 * the user has offered it. Blocks are whole pages, from the lowest place with room. The CPU reaches it, and so does what
 * takes bus addresses; the kernel refuses it for direct I/O and for pinning.
 */
final class BarPeerMemory implements PeerMemory {
    private final BarRange range;
    private final Path resource;
    private final long sizeBytes;
    private final DeviceFolder device;

    /** Start of each piece that is taken, from the range's start, to its end. */
    private final TreeMap<Long, Long> taken = new TreeMap<>();

    /**
     * @param folder the function's in sysfs
     * @throws IOException if there is no such BAR, or it is too small
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
        long room = Files.size(resource) - range.offsetBytes();
        if (room <= 0 || range.lengthBytes() > room) {
            throw new IOException(range + ": resource" + range.bar() + " has only " + Files.size(resource) + " bytes");
        }
        sizeBytes = range.lengthBytes() == 0 ? room & -MappedBlock.PAGE_BYTES : range.lengthBytes();
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
        long used = 0;
        for (Map.Entry<Long, Long> piece : taken.entrySet()) {
            used += piece.getValue() - piece.getKey();
        }
        return device.isPresent() ? sizeBytes - used : 0;
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
            PeerBlock block =
                    new MappedBlock(resource, range.offsetBytes() + start, mappedBytes, bytes, () -> giveBack(start));
            mapped = true;
            return block;
        } finally {
            if (!mapped) {
                giveBack(start);
            }
        }
    }

    private synchronized long take(long bytes) {
        long start = 0;
        for (Map.Entry<Long, Long> piece : taken.entrySet()) {
            if (piece.getKey() - start >= bytes) {
                break;
            }
            start = piece.getValue();
        }
        if (bytes > sizeBytes - start) {
            return -1;
        }
        taken.put(start, start + bytes);
        return start;
    }

    private synchronized void giveBack(long start) {
        taken.remove(start);
    }
}

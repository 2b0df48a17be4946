package org.nvmf4j.pcie;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.pcie.nvme.NvmeCmb;
import org.nvmf4j.pcie.ranges.FreeRanges;
import org.nvmf4j.target.spi.PeerBlock;
import org.nvmf4j.target.spi.PeerMemory;

/**
 * The memory buffer of an NVMe controller that is ours. It counts as published if the data of both reads and writes may pass through it.
 * Blocks are whole pages, from the lowest place with room; the buffer stays mapped until it is closed and the last of them has come back.
 */
public final class CmbPeerMemory implements PeerMemory, AutoCloseable {
    private final PciAddress address;
    private final NvmeCmb buffer;
    private final DeviceFolder device;
    private final FreeRanges free = new FreeRanges();
    private boolean closed;
    private boolean unmapped;

    /**
     * The buffer of a controller that has enabled it.
     *
     * @param buffer is closed with the memory
     * @param sysfs where the function is looked for, to see whether it is still there
     */
    public CmbPeerMemory(PciAddress address, NvmeCmb buffer, Path sysfs) {
        this.address = address;
        this.buffer = buffer;
        device = new DeviceFolder(sysfs.resolve("bus/pci/devices").resolve(address.toString()));
        free.add(0, sizeBytes());
    }

    @Override
    public String pciAddress() {
        return address.toString();
    }

    @Override
    public long sizeBytes() {
        return buffer.sizeBytes();
    }

    @Override
    public synchronized long freeBytes() {
        return isPresent() ? free.freeBytes() : 0;
    }

    @Override
    public boolean isPublished() {
        return buffer.description().takesData();
    }

    @Override
    public synchronized boolean isPresent() {
        return !closed && device.isPresent();
    }

    @Override
    public long losses() {
        return buffer.losses();
    }

    @Override
    public String publisher() {
        return "nvmf (controller memory buffer" + (isPublished() ? ")" : "; it does not take data both ways)");
    }

    @Override
    public synchronized @Nullable PeerBlock allocate(long bytes) throws IOException {
        long wholePages = MappedBlock.pages(bytes);
        if (!isPresent()) {
            throw new IOException(address + " has vanished");
        }
        long start = free.take(wholePages, MappedBlock.PAGE_BYTES, 0);
        return start < 0 ? null : new Block(start, wholePages, bytes);
    }

    private synchronized void giveBack(long start, long bytes) {
        free.add(start, start + bytes);
        unmapIfUnused();
    }

    /** It has vanished from now on; whoever has blocks of it gives them back. */
    @Override
    public synchronized void close() {
        closed = true;
        unmapIfUnused();
    }

    private void unmapIfUnused() {
        if (closed && !unmapped && free.freeBytes() == sizeBytes()) {
            unmapped = true;
            buffer.close();
        }
    }

    private final class Block implements PeerBlock {
        private final long start;
        private final long takenBytes;
        private final MemorySegment segment;
        private boolean returned;

        /**
         * A piece that was taken.
         *
         * @param bytes what of it the block shows
         */
        Block(long start, long takenBytes, long bytes) {
            this.start = start;
            this.takenBytes = takenBytes;
            segment = buffer.segment().asSlice(start, bytes);
        }

        @Override
        public MemorySegment segment() {
            return segment;
        }

        @Override
        public OptionalLong busAddress() {
            return OptionalLong.of(buffer.busAddress() + start);
        }

        @Override
        public synchronized void close() {
            if (!returned) {
                returned = true;
                giveBack(start, takenBytes);
            }
        }
    }
}

package org.nvmf4j.pcie.nvme;

import java.lang.foreign.MemorySegment;
import java.util.TreeMap;

/** Memory that is mapped for a device, with a page that nobody has behind each piece. To touch other memory is an error of the test. Thread-safe. */
final class SimulatedMemory {
    private static final int PAGE_BYTES = 4096;

    private final TreeMap<Long, MemorySegment> pieces = new TreeMap<>();
    private long nextAddress = 0x1_0000_0000L;

    /** Pieces that were not unmapped. */
    synchronized int size() {
        return pieces.size();
    }

    synchronized DmaMemory map(MemorySegment segment) {
        if (((segment.address() | segment.byteSize()) & (PAGE_BYTES - 1)) != 0) {
            throw new AssertionError("only whole pages can be mapped");
        }
        long address = nextAddress;
        nextAddress += segment.byteSize() + PAGE_BYTES;
        pieces.put(address, segment);
        return new DmaMemory() {
            @Override
            public MemorySegment segment() {
                return segment;
            }

            @Override
            public long busAddress() {
                return address;
            }

            @Override
            public void close() {
                unmap(address);
            }
        };
    }

    private synchronized void unmap(long address) {
        if (pieces.remove(address) == null) {
            throw new AssertionError("memory was given back twice");
        }
    }

    /** What the device finds at an address. */
    synchronized MemorySegment at(long address, long length) {
        var piece = pieces.floorEntry(address);
        if (piece == null
                || address + length > piece.getKey() + piece.getValue().byteSize()) {
            throw new AssertionError(
                    String.format("the device touches 0x%x, %d bytes, which nobody has", address, length));
        }
        return piece.getValue().asSlice(address - piece.getKey(), length);
    }
}

package org.nvmf4j.target;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.target.spi.PeerBlock;
import org.nvmf4j.target.spi.PeerMemory;

/** Peer memory that is memory of the process, and watches what is taken of it. Thread-safe. */
final class FakePeerMemory implements PeerMemory {
    private final String pciAddress;
    private final MemorySegment memory;
    private final TreeMap<Long, Block> blocks = new TreeMap<>();
    private volatile boolean present = true;
    private final AtomicLong losses = new AtomicLong();
    /** What happens in the middle of a call. */
    volatile Runnable onAllocate = () -> {};

    volatile Runnable onPresent = () -> {};
    volatile Runnable onClose = () -> {};
    private long blocksEver;

    FakePeerMemory(String pciAddress, long sizeBytes) {
        this.pciAddress = pciAddress;
        this.memory = Arena.ofAuto().allocate(sizeBytes, 4096);
    }

    /** All of it, whoever has taken it. */
    MemorySegment memory() {
        return memory;
    }

    /** What is in it means nothing any more. */
    void lose() {
        losses.incrementAndGet();
    }

    @Override
    public long losses() {
        return losses.get();
    }

    void vanish() {
        present = false;
    }

    synchronized int blocks() {
        return blocks.size();
    }

    synchronized long blocksEver() {
        return blocksEver;
    }

    @Override
    public String pciAddress() {
        return pciAddress;
    }

    @Override
    public long sizeBytes() {
        return memory.byteSize();
    }

    @Override
    public synchronized long freeBytes() {
        return memory.byteSize()
                - blocks.values().stream()
                        .mapToLong(block -> block.segment.byteSize())
                        .sum();
    }

    @Override
    public boolean isPublished() {
        return true;
    }

    @Override
    public boolean isPresent() {
        onPresent.run();
        return present;
    }

    @Override
    public String publisher() {
        return "a test";
    }

    @Override
    public @Nullable PeerBlock allocate(long bytes) {
        onAllocate.run();
        return take(bytes);
    }

    private synchronized @Nullable PeerBlock take(long bytes) {
        long start = 0;
        for (var taken : blocks.entrySet()) {
            if (taken.getKey() - start >= bytes) {
                break;
            }
            start = taken.getKey() + taken.getValue().segment.byteSize();
        }
        if (bytes > memory.byteSize() - start) {
            return null;
        }
        Block block = new Block(start, memory.asSlice(start, bytes));
        blocks.put(start, block);
        blocksEver++;
        return block;
    }

    private final class Block implements PeerBlock {
        private final long start;
        private final MemorySegment segment;

        Block(long start, MemorySegment segment) {
            this.start = start;
            this.segment = segment;
        }

        @Override
        public MemorySegment segment() {
            return segment;
        }

        @Override
        public void close() {
            synchronized (FakePeerMemory.this) {
                if (blocks.remove(start) != this) {
                    throw new AssertionError("a block was given back twice");
                }
            }
            onClose.run();
        }
    }
}

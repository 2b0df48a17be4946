package org.nvmf4j.host;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SeekableByteChannel;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A namespace as a byte channel of fixed size, for programs that know files: any position, any length. Whole blocks move straight
 * between the buffer and the target (large requests as several commands at a time); a block of which only a part is written is read
 * first, so no other writer may be at work in it. Thread-safe, one operation at a time. Closing leaves the controller connected.
 */
public final class NamespaceChannel implements SeekableByteChannel {
    private final Namespace namespace;
    private final long sizeBytes;
    private final MemorySegment block;
    private final ReentrantLock lock = new ReentrantLock();
    private volatile boolean open = true;
    private long position;

    /** A channel at position 0. */
    public NamespaceChannel(Namespace namespace) {
        this.namespace = namespace;
        this.sizeBytes = namespace.sizeBytes();
        this.block = MemorySegment.ofArray(new byte[namespace.blockBytes()]);
    }

    /** Reads up to the end of the namespace; −1 at the end. */
    @Override
    public int read(ByteBuffer destination) throws IOException {
        lock.lock();
        try {
            checkOpen();
            return transfer(destination, false);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Writes up to the end of the namespace.
     *
     * @throws IOException also if the position is at the end and there is something to write
     */
    @Override
    public int write(ByteBuffer source) throws IOException {
        lock.lock();
        try {
            checkOpen();
            int written = transfer(source, true);
            if (written < 0) {
                throw new HostException("the namespace ends at byte " + sizeBytes + ", and there is more to write");
            }
            return written;
        } finally {
            lock.unlock();
        }
    }

    private int transfer(ByteBuffer buffer, boolean write) throws IOException {
        if (!buffer.hasRemaining()) {
            return 0;
        }
        if (position >= sizeBytes) {
            return -1;
        }
        MemorySegment memory = MemorySegment.ofBuffer(buffer);
        int total = (int) Math.min(memory.byteSize(), sizeBytes - position);
        int done = 0;
        while (done < total) {
            int step = transferStep(memory.asSlice(done, total - done), write);
            done += step;
            position += step;
            buffer.position(buffer.position() + step);
        }
        return total;
    }

    /** Moves as many whole blocks as there are, or a part of one block. */
    private int transferStep(MemorySegment memory, boolean write) throws IOException {
        int blockBytes = namespace.blockBytes();
        long lba = position / blockBytes;
        int within = (int) (position % blockBytes);
        int whole = (int) (memory.byteSize() / blockBytes * blockBytes);
        if (within == 0 && whole > 0) {
            if (write) {
                namespace.write(lba, memory.asSlice(0, whole));
            } else {
                namespace.read(lba, memory.asSlice(0, whole));
            }
            return whole;
        }
        int length = (int) Math.min(blockBytes - within, memory.byteSize());
        namespace.read(lba, block);
        if (write) {
            MemorySegment.copy(memory, 0, block, within, length);
            namespace.write(lba, block);
        } else {
            MemorySegment.copy(block, within, memory, 0, length);
        }
        return length;
    }

    /** Waits until everything written is on stable storage. */
    public void force() throws IOException {
        checkOpen();
        namespace.flush();
    }

    @Override
    public long position() throws IOException {
        lock.lock();
        try {
            checkOpen();
            return position;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public NamespaceChannel position(long newPosition) throws IOException {
        if (newPosition < 0) {
            throw new IllegalArgumentException("position " + newPosition + " is negative");
        }
        lock.lock();
        try {
            checkOpen();
            position = newPosition;
            return this;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public long size() {
        return sizeBytes;
    }

    /** Not possible: a namespace has its size. */
    @Override
    public NamespaceChannel truncate(long size) {
        throw new UnsupportedOperationException("a namespace cannot be truncated");
    }

    @Override
    public boolean isOpen() {
        return open;
    }

    private void checkOpen() throws ClosedChannelException {
        if (!open) {
            throw new ClosedChannelException();
        }
    }

    @Override
    public void close() {
        open = false;
    }
}

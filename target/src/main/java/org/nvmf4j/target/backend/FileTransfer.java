package org.nvmf4j.target.backend;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import org.jspecify.annotations.Nullable;

/** Whole reads and writes on a channel, with what one thread needs for that: direct I/O takes only aligned memory. */
final class FileTransfer {
    private static final int BOUNCE_BYTES = 1 << 20;
    private static final int ZEROES_BYTES = 1 << 18;

    private final FileChannel channel;
    private final int alignmentBytes;
    private @Nullable ByteBuffer bounce;
    private @Nullable ByteBuffer zeroes;

    /**
     * Made once per thread.
     *
     * @param alignmentBytes of addresses in direct I/O, else 1
     */
    FileTransfer(FileChannel channel, int alignmentBytes) {
        this.channel = channel;
        this.alignmentBytes = alignmentBytes;
    }

    /** Fills the buffer's remaining bytes. */
    void read(ByteBuffer data, long position) throws IOException {
        if (isAligned(data)) {
            readFully(data, position);
            return;
        }
        ByteBuffer own = bounce();
        long at = position;
        while (data.hasRemaining()) {
            own.clear().limit(Math.min(BOUNCE_BYTES, data.remaining()));
            readFully(own, at);
            own.flip();
            at += own.remaining();
            data.put(own);
        }
    }

    /** Writes the buffer's remaining bytes. */
    void write(ByteBuffer data, long position) throws IOException {
        if (isAligned(data)) {
            writeFully(data, position);
            return;
        }
        ByteBuffer own = bounce();
        long at = position;
        int end = data.limit();
        while (data.position() < end) {
            data.limit(Math.min(end, data.position() + BOUNCE_BYTES));
            own.clear();
            own.put(data).flip();
            int length = own.remaining();
            writeFully(own, at);
            at += length;
            data.limit(end);
        }
    }

    /** Whether the buffer's remaining bytes are those of the file; takes them. */
    boolean isSame(ByteBuffer data, long position) throws IOException {
        ByteBuffer own = bounce();
        int start = data.position();
        int end = data.limit();
        for (int at = start; at < end; at += BOUNCE_BYTES) {
            data.limit(Math.min(end, at + BOUNCE_BYTES)).position(at);
            own.clear().limit(data.remaining());
            readFully(own, position + (at - start));
            if (own.flip().mismatch(data) >= 0) {
                return false;
            }
        }
        return true;
    }

    void writeZeroes(long position, long lengthBytes) throws IOException {
        if (zeroes == null) {
            zeroes = aligned(ZEROES_BYTES);
        }
        for (long done = 0; done < lengthBytes; ) {
            int length = (int) Math.min(ZEROES_BYTES, lengthBytes - done);
            writeFully(zeroes.clear().limit(length), position + done);
            done += length;
        }
    }

    private void readFully(ByteBuffer to, long position) throws IOException {
        long at = position;
        while (to.hasRemaining()) {
            int count = channel.read(to, at);
            if (count < 0) {
                throw new IOException("the file has become shorter, it ends before " + (at + to.remaining()));
            }
            at += count;
        }
    }

    private void writeFully(ByteBuffer from, long position) throws IOException {
        long at = position;
        while (from.hasRemaining()) {
            at += channel.write(from, at);
        }
    }

    private boolean isAligned(ByteBuffer data) {
        return alignmentBytes == 1 || data.alignmentOffset(data.position(), alignmentBytes) == 0;
    }

    private ByteBuffer bounce() {
        ByteBuffer own = bounce;
        if (own == null) {
            own = aligned(BOUNCE_BYTES);
            bounce = own;
        }
        return own;
    }

    private ByteBuffer aligned(int bytes) {
        MemorySegment memory = Arena.ofAuto().allocate(bytes, Math.max(alignmentBytes, 4096));
        return memory.asByteBuffer();
    }
}

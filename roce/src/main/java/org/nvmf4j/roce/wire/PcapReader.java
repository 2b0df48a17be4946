package org.nvmf4j.roce.wire;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads capture files: pcap (microseconds and nanoseconds) and pcapng, of either byte order.
 *
 * <p>Reads the stream in order and small pieces: wrap a file in a buffer. A malformed file ends with an {@link IOException} of one line,
 * after the frames before the damage. Confined to one thread; closing is the caller's.
 */
public final class PcapReader {
    private static final int PCAP_MICROS = 0xA1B2C3D4;
    private static final int PCAP_NANOS = 0xA1B23C4D;
    private static final int SECTION_HEADER = 0x0A0D0D0A;
    private static final int BYTE_ORDER_MAGIC = 0x1A2B3C4D;
    private static final int INTERFACE_DESCRIPTION = 1;
    private static final int OBSOLETE_PACKET = 2;
    private static final int SIMPLE_PACKET = 3;
    private static final int ENHANCED_PACKET = 6;
    private static final int OPTION_TIMESTAMP_RESOLUTION = 9;

    /** No frame and no block that matters is longer. */
    private static final int MAX_BYTES = 1 << 20;

    private static final int MAX_INTERFACES = 4096;

    /** An interface of a pcapng section: what its frames begin with, and the unit of their times. */
    private record Interface(int linkType, long snapBytes, int resolution) {}

    private final InputStream in;
    private final boolean ng;
    private final boolean nanos;
    private ByteOrder order;
    private final List<Interface> interfaces = new ArrayList<>();
    private long frames;

    /**
     * Reads the beginning of a file.
     *
     * @throws IOException if it is neither pcap nor pcapng, or cannot be read
     */
    public PcapReader(InputStream in) throws IOException {
        this.in = in;
        ByteBuffer magic = ByteBuffer.wrap(in.readNBytes(4));
        int big = magic.limit() < 4 ? 0 : magic.getInt(0);
        int little = Integer.reverseBytes(big);
        ng = big == SECTION_HEADER;
        nanos = big == PCAP_NANOS || little == PCAP_NANOS;
        order = big == PCAP_NANOS || big == PCAP_MICROS ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
        if (ng) {
            startSection();
        } else if (nanos || big == PCAP_MICROS || little == PCAP_MICROS) {
            ByteBuffer header = read(20);
            interfaces.add(new Interface(header.getInt(16) & 0xFFFF, MAX_BYTES, 0));
        } else {
            throw new IOException("not a pcap or pcapng file");
        }
    }

    /** The next frame, or null at the end of the file. */
    public @Nullable PcapFrame next() throws IOException {
        return ng ? nextBlock() : nextRecord();
    }

    private @Nullable PcapFrame nextRecord() throws IOException {
        byte[] header = in.readNBytes(16);
        if (header.length == 0) {
            return null;
        }
        ByteBuffer h = wrap(header, 16);
        long fraction = h.getInt(4) & 0xFFFF_FFFFL;
        long time = (h.getInt(0) & 0xFFFF_FFFFL) * 1_000_000_000L + (nanos ? fraction : fraction * 1000);
        byte[] bytes = read(length(h.getInt(8))).array();
        return new PcapFrame(++frames, time, interfaces.getFirst().linkType, bytes, h.getInt(12));
    }

    private @Nullable PcapFrame nextBlock() throws IOException {
        while (true) {
            byte[] header = in.readNBytes(4);
            if (header.length == 0) {
                return null;
            }
            int type = wrap(header, 4).getInt(0);
            if (type == SECTION_HEADER) {
                startSection();
                continue;
            }
            long total = read(4).getInt(0) & 0xFFFF_FFFFL;
            if (total < 12 || (total & 3) != 0) {
                throw new IOException("pcapng block of " + total + " bytes after frame " + frames);
            }
            PcapFrame frame = block(type, total - 12);
            read(4);
            if (frame != null) {
                return frame;
            }
        }
    }

    private @Nullable PcapFrame block(int type, long bytes) throws IOException {
        switch (type) {
            case INTERFACE_DESCRIPTION -> describeInterface(read(length(bytes)));
            case ENHANCED_PACKET, OBSOLETE_PACKET -> {
                ByteBuffer b = read(length(bytes));
                need(b.limit() >= 20);
                int index = type == ENHANCED_PACKET ? b.getInt(0) : b.getShort(0) & 0xFFFF;
                need(index >= 0 && index < interfaces.size());
                Interface from = interfaces.get(index);
                long time = (long) b.getInt(4) << 32 | (b.getInt(8) & 0xFFFF_FFFFL);
                return frame(b, 20, b.getInt(12), b.getInt(16), from, nanos(time, from.resolution));
            }
            case SIMPLE_PACKET -> {
                ByteBuffer b = read(length(bytes));
                need(b.limit() >= 4 && !interfaces.isEmpty());
                Interface from = interfaces.getFirst();
                long original = b.getInt(0) & 0xFFFF_FFFFL;
                long captured = from.snapBytes == 0 ? original : Math.min(original, from.snapBytes);
                return frame(b, 4, (int) Math.min(captured, b.limit() - 4), (int) original, from, 0);
            }
            default -> skip(bytes);
        }
        return null;
    }

    private PcapFrame frame(ByteBuffer b, int at, int captured, int original, Interface from, long time)
            throws IOException {
        need(captured >= 0 && captured <= b.limit() - at);
        byte[] bytes = new byte[captured];
        b.get(at, bytes);
        return new PcapFrame(++frames, time, from.linkType, bytes, original);
    }

    /** The type of the block is read already. */
    private void startSection() throws IOException {
        ByteBuffer b = wrap(in.readNBytes(8), 8);
        order = b.order(ByteOrder.BIG_ENDIAN).getInt(4) == BYTE_ORDER_MAGIC
                ? ByteOrder.BIG_ENDIAN
                : ByteOrder.LITTLE_ENDIAN;
        b.order(order);
        long total = b.getInt(0) & 0xFFFF_FFFFL;
        need(b.getInt(4) == BYTE_ORDER_MAGIC && total >= 28);
        skip(total - 12);
        interfaces.clear();
    }

    private void describeInterface(ByteBuffer b) throws IOException {
        need(b.limit() >= 8 && interfaces.size() < MAX_INTERFACES);
        int resolution = 6;
        int at = 8;
        while (at <= b.limit() - 4) {
            int code = b.getShort(at) & 0xFFFF;
            int bytes = b.getShort(at + 2) & 0xFFFF;
            if (code == 0) {
                break;
            }
            if (code == OPTION_TIMESTAMP_RESOLUTION && bytes == 1 && at + 4 < b.limit()) {
                resolution = b.get(at + 4) & 0xFF;
            }
            at += 4 + (bytes + 3 & ~3);
        }
        interfaces.add(new Interface(b.getShort(0) & 0xFFFF, b.getInt(4) & 0xFFFF_FFFFL, resolution));
    }

    /** Nanoseconds of a time in units of 10^−n or, with the top bit of the resolution set, 2^−n seconds. */
    private static long nanos(long time, int resolution) {
        int n = resolution & 0x7F;
        if ((resolution & 0x80) != 0) {
            double seconds = Math.scalb((double) (time >>> 1) * 2 + (time & 1), -n);
            return (long) (seconds * 1e9);
        }
        long result = time;
        for (int i = n; i < 9; i++) {
            result *= 10;
        }
        for (int i = 9; i < n && result != 0; i++) {
            result = Long.divideUnsigned(result, 10);
        }
        return result;
    }

    private int length(long bytes) throws IOException {
        if (bytes < 0 || bytes > MAX_BYTES) {
            throw new IOException("damaged capture file: a length of " + bytes + " bytes after frame " + frames);
        }
        return (int) bytes;
    }

    private void need(boolean condition) throws IOException {
        if (!condition) {
            throw new IOException("damaged capture file after frame " + frames);
        }
    }

    private ByteBuffer read(int bytes) throws IOException {
        return wrap(in.readNBytes(bytes), bytes);
    }

    private ByteBuffer wrap(byte[] bytes, int expected) throws IOException {
        if (bytes.length < expected) {
            throw new EOFException("the capture file is cut off after frame " + frames);
        }
        return ByteBuffer.wrap(bytes).order(order);
    }

    private void skip(long bytes) throws IOException {
        for (long left = bytes; left > 0; ) {
            left -= read((int) Math.min(left, 8192)).limit();
        }
    }
}

package org.nvmf4j.roce.rc;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.nvmf4j.roce.wire.Bth;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.roce.wire.PacketSink;
import org.nvmf4j.roce.wire.RocePacket;

/** Collects packets, padded and without ICRC, and checks that the writer keeps to its announcements. Allocates nothing. */
final class BatchSink implements PacketSink {
    private static final int STRIDE = 4352;

    private final MemorySegment buffer;
    private final int[] lengths;
    private int room;
    private int count;
    private int headerLength;
    private int payloadLength;
    private int payloadDone = -1;
    private boolean vanished;

    BatchSink(Arena arena, int capacity) {
        buffer = arena.allocate((long) capacity * STRIDE, 64);
        lengths = new int[capacity];
        room = capacity;
    }

    /** Limits how many packets fit. */
    void room(int packets) {
        room = Math.min(packets, lengths.length);
    }

    /** Has memory that may be taken away be gone from now on. */
    void vanish() {
        vanished = true;
    }

    void clear() {
        count = 0;
    }

    int count() {
        return count;
    }

    MemorySegment buffer() {
        return buffer;
    }

    long offset(int i) {
        return (long) i * STRIDE;
    }

    int length(int i) {
        return lengths[i];
    }

    byte[] packet(int i) {
        return buffer.asSlice(offset(i), lengths[i]).toArray(ValueLayout.JAVA_BYTE);
    }

    @Override
    public boolean begin(int headerLengthBytes, int payloadLengthBytes) {
        require(payloadDone == -1, "packet begun before the last one ended");
        if (count == room) {
            return false;
        }
        headerLength = headerLengthBytes;
        payloadLength = payloadLengthBytes;
        payloadDone = 0;
        return true;
    }

    @Override
    public MemorySegment headerSegment() {
        return buffer;
    }

    @Override
    public long headerOffset() {
        return offset(count);
    }

    @Override
    public void payload(MemorySegment source, long offset, int lengthBytes) {
        require(payloadDone >= 0 && lengthBytes > 0 && payloadDone + lengthBytes <= payloadLength, "payload too long");
        MemorySegment.copy(source, offset, buffer, offset(count) + headerLength + payloadDone, lengthBytes);
        payloadDone += lengthBytes;
    }

    @Override
    public boolean onDemandPayload(MemorySegment source, long offset, int lengthBytes) {
        if (vanished) {
            payloadDone = -1;
            return false;
        }
        payload(source, offset, lengthBytes);
        return true;
    }

    @Override
    public void end() {
        require(payloadDone == payloadLength, "payload too short");
        int opcode = Bth.opcode(buffer, offset(count));
        require(headerLength == Opcode.headerBytes(opcode), "header length does not fit the opcode");
        int pad = RocePacket.padCount(payloadLength);
        require(Bth.padCount(buffer, offset(count)) == pad, "wrong pad count");
        int length = headerLength + payloadLength;
        for (int i = 0; i < pad; i++) {
            buffer.set(ValueLayout.JAVA_BYTE, offset(count) + length + i, (byte) 0);
        }
        lengths[count++] = length + pad;
        payloadDone = -1;
    }

    private static void require(boolean condition, String message) {
        if (!condition) {
            throw new AssertionError(message);
        }
    }
}

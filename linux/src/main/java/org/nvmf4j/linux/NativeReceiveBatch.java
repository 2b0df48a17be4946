package org.nvmf4j.linux;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;

/**
 * Receives by {@code recvmsg} while datagrams come one at a time, which is quicker, and by {@code recvmmsg} once two
 * calls in a row have found one.
 */
final class NativeReceiveBatch extends ReceiveBatch {
    private static final int IPPROTO_UDP = 17;
    private static final int UDP_GRO = 104;
    private static final long CMSG_LEVEL = 8;
    private static final long CMSG_TYPE = 12;
    private static final long CMSG_DATA = 16;
    /** CMSG_LEN of an int. */
    private static final long CMSG_INT_BYTES = 20;
    /** CMSG_SPACE of an int, and room for one more. */
    private static final int CONTROL_BYTES = 64;

    private final NativeUdpSocket socket;
    private final boolean ipv4;
    private final int slots;
    private final MemorySegment errnoState = LibC.newErrnoState();
    private final MemorySegment buffer;
    private final MemorySegment headers;
    private final MemorySegment names;
    private final MemorySegment controls;
    private int filled;
    private int singles;

    NativeReceiveBatch(NativeUdpSocket socket, Arena arena, int slots) {
        if (slots < 1 || slots > 1024) {
            throw new IllegalArgumentException(slots + " receive slots are not 1 to 1024");
        }
        this.socket = socket;
        this.ipv4 = socket.isIpv4();
        this.slots = slots;
        this.buffer = PageMemory.allocate(arena, (long) slots * SLOT_BYTES);
        this.headers = arena.allocate(MessageHeaders.STRIDE * slots, 64);
        this.names = arena.allocate((long) SocketAddresses.SLOT_BYTES * slots, 64);
        this.controls = arena.allocate((long) CONTROL_BYTES * slots, 64);
        MemorySegment pieces = arena.allocate(MessageHeaders.PIECE_BYTES * slots, 64);
        for (int i = 0; i < slots; i++) {
            MessageHeaders.setPiece(pieces, i, buffer.address() + offset(i), SLOT_BYTES);
            MessageHeaders.setName(headers, i, names.address() + nameAt(i), SocketAddresses.SLOT_BYTES);
            MessageHeaders.setPieces(headers, i, pieces.address() + i * MessageHeaders.PIECE_BYTES, 1);
            MessageHeaders.setControl(headers, i, controls.address() + controlAt(i), CONTROL_BYTES);
        }
    }

    private static long nameAt(int slot) {
        return (long) slot * SocketAddresses.SLOT_BYTES;
    }

    private static long controlAt(int slot) {
        return (long) slot * CONTROL_BYTES;
    }

    @Override
    public int receive() throws LinuxException {
        restoreLengths();
        boolean single = singles < 2 || slots == 1;
        int result;
        do {
            result = single ? receiveOne() : receiveMany();
        } while (result == -SystemErrors.EINTR || result == -SystemErrors.ECONNREFUSED);
        if (result < 0) {
            singles = 0;
            if (result == -SystemErrors.EAGAIN) {
                return 0;
            }
            throw new LinuxException(single ? "recvmsg" : "recvmmsg", -result);
        }
        if (single) {
            singles++;
        } else if (result == 1) {
            singles = 0;
        }
        filled = result;
        return result;
    }

    private int receiveOne() {
        int length = LibC.recvmsg(errnoState, socket.fd(), headers.address(), 0);
        if (length < 0) {
            return length;
        }
        MessageHeaders.setLength(headers, 0, length);
        return 1;
    }

    private int receiveMany() {
        return LibC.recvmmsg(errnoState, socket.fd(), headers.address(), slots, 0);
    }

    /** The kernel wrote the lengths it used over those it was offered. */
    private void restoreLengths() {
        for (int i = 0; i < filled; i++) {
            MessageHeaders.restoreLengths(headers, i, SocketAddresses.SLOT_BYTES, CONTROL_BYTES);
        }
        filled = 0;
    }

    @Override
    public int slots() {
        return slots;
    }

    @Override
    public MemorySegment buffer() {
        return buffer;
    }

    @Override
    public int lengthBytes(int slot) {
        return MessageHeaders.length(headers, checked(slot));
    }

    @Override
    public int segmentBytes(int slot) {
        int length = MessageHeaders.length(headers, checked(slot));
        long at = controlAt(slot);
        if (MessageHeaders.controlLength(headers, slot) >= CMSG_INT_BYTES
                && controls.get(ValueLayout.JAVA_INT, at + CMSG_LEVEL) == IPPROTO_UDP
                && controls.get(ValueLayout.JAVA_INT, at + CMSG_TYPE) == UDP_GRO) {
            int segment = controls.get(ValueLayout.JAVA_INT, at + CMSG_DATA);
            return segment > 0 && segment < length ? segment : length;
        }
        return length;
    }

    @Override
    public long sourceHigh(int slot) {
        return SocketAddresses.high(names, nameAt(checked(slot)), ipv4);
    }

    @Override
    public long sourceLow(int slot) {
        return SocketAddresses.low(names, nameAt(checked(slot)), ipv4);
    }

    @Override
    public int sourcePort(int slot) {
        return SocketAddresses.port(names, nameAt(checked(slot)));
    }

    @Override
    public int sourceScopeId(int slot) {
        return SocketAddresses.scopeId(names, nameAt(checked(slot)), ipv4);
    }

    private int checked(int slot) {
        return Objects.checkIndex(slot, filled);
    }
}

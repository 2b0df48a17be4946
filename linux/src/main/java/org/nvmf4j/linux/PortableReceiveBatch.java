package org.nvmf4j.linux;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Receives one datagram a call, until the slots are full or nothing waits. */
final class PortableReceiveBatch extends ReceiveBatch {
    private final PortableUdpSocket socket;
    private final MemorySegment buffer;
    private final ByteBuffer[] views;
    private final int[] lengths;
    private final UdpPeer[] sources;
    /** The channel gives the same object for datagrams from the same source. */
    private @Nullable SocketAddress lastAddress;

    private UdpPeer lastSource = UdpPeer.of(0, 0, 0, 0);
    private int filled;

    PortableReceiveBatch(PortableUdpSocket socket, Arena arena, int slots) {
        if (slots < 1 || slots > 1024) {
            throw new IllegalArgumentException(slots + " receive slots are not 1 to 1024");
        }
        this.socket = socket;
        this.buffer = PageMemory.allocate(arena, (long) slots * SLOT_BYTES);
        this.views = new ByteBuffer[slots];
        this.lengths = new int[slots];
        this.sources = new UdpPeer[slots];
        for (int i = 0; i < slots; i++) {
            views[i] = buffer.asSlice(offset(i), SLOT_BYTES).asByteBuffer();
        }
    }

    @Override
    public int receive() throws IOException {
        filled = 0;
        while (filled < views.length && receiveOne(filled)) {
            filled++;
        }
        return filled;
    }

    private boolean receiveOne(int slot) throws IOException {
        ByteBuffer view = views[slot];
        view.clear();
        SocketAddress address;
        try {
            address = socket.channel().receive(view);
        } catch (PortUnreachableException e) {
            return false;
        }
        if (address == null) {
            return false;
        }
        lengths[slot] = view.position();
        sources[slot] = sourceOf(address);
        return true;
    }

    private UdpPeer sourceOf(SocketAddress address) {
        if (address != lastAddress) {
            lastAddress = address;
            lastSource = UdpPeer.of((InetSocketAddress) address);
        }
        return lastSource;
    }

    @Override
    public int slots() {
        return views.length;
    }

    @Override
    public MemorySegment buffer() {
        return buffer;
    }

    @Override
    public int lengthBytes(int slot) {
        return lengths[checked(slot)];
    }

    @Override
    public int segmentBytes(int slot) {
        return lengths[checked(slot)];
    }

    @Override
    public long sourceHigh(int slot) {
        return sources[checked(slot)].addressHigh();
    }

    @Override
    public long sourceLow(int slot) {
        return sources[checked(slot)].addressLow();
    }

    @Override
    public int sourcePort(int slot) {
        return sources[checked(slot)].port();
    }

    @Override
    public int sourceScopeId(int slot) {
        return sources[checked(slot)].scopeId();
    }

    private int checked(int slot) {
        return Objects.checkIndex(slot, filled);
    }
}

package org.nvmf4j.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.ibverbs.RdmaCore.Function;
import org.nvmf4j.linux.SocketAddresses;
import org.nvmf4j.linux.UdpPeer;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.VerbsException;

/** An {@code rdma_cm_id}, and who hears of its events. Thread-safe. */
final class CmId {
    private static final int RDMA_PS_TCP = 0x106;

    private final RdmaCore core;
    private final EventThread events;
    private long pointer;
    private volatile @Nullable Receiver receiver;

    /** Hears of an event on the event thread, which it must not keep. */
    @FunctionalInterface
    interface Receiver {
        void onEvent(CmEvent event);
    }

    private CmId(RdmaCore core, EventThread events, long pointer, @Nullable Receiver receiver) {
        this.core = core;
        this.events = events;
        this.pointer = pointer;
        this.receiver = receiver;
        events.add(pointer, this);
    }

    static CmId create(RdmaCore core, EventThread events, @Nullable Receiver receiver) throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment room = arena.allocate(ValueLayout.JAVA_LONG);
            core.check(Function.RDMA_CREATE_ID, events.channel(), room.address(), 0, RDMA_PS_TCP);
            long pointer = room.get(ValueLayout.JAVA_LONG, 0);
            AbiCheck.id(pointer, events.channel());
            return new CmId(core, events, pointer, receiver);
        }
    }

    /** One that the library made for a connection request. */
    static CmId of(RdmaCore core, EventThread events, long pointer) {
        return new CmId(core, events, pointer, null);
    }

    void receiver(Receiver hears) {
        receiver = hears;
    }

    /** False if nobody hears of it, as the id is being destroyed. */
    boolean deliver(CmEvent event) {
        Receiver hears = receiver;
        if (hears == null) {
            return false;
        }
        hears.onEvent(event);
        return true;
    }

    synchronized long pointer() throws VerbsException {
        if (pointer == 0) {
            throw new VerbsException("the connection is closed");
        }
        return pointer;
    }

    /** The {@code ibv_context} of the device that its address belongs to; 0 if it has none yet. */
    long context() throws VerbsException {
        return RdmaCore.longAt(pointer() + Abi.RdmaCmId.VERBS);
    }

    int port() throws VerbsException {
        return RdmaCore.byteAt(pointer() + Abi.RdmaCmId.PORT_NUM);
    }

    InetSocketAddress localAddress() throws VerbsException {
        return addressAt(Abi.RdmaCmId.ROUTE__ADDR__SRC_ADDR);
    }

    InetSocketAddress remoteAddress() throws VerbsException {
        return addressAt(Abi.RdmaCmId.ROUTE__ADDR__DST_ADDR);
    }

    private InetSocketAddress addressAt(int offset) throws VerbsException {
        return SocketAddresses.read(RdmaCore.MEMORY, pointer() + offset).socketAddress();
    }

    private static MemorySegment copyOf(InetSocketAddress address, Arena arena) {
        MemorySegment memory = arena.allocate(SocketAddresses.SLOT_BYTES, 8);
        SocketAddresses.write(memory, 0, UdpPeer.of(address));
        return memory;
    }

    void bind(InetSocketAddress local) throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = copyOf(local, arena);
            core.check(Function.RDMA_BIND_ADDR, pointer(), address.address(), 0, 0);
        }
    }

    void listen(int backlog) throws VerbsException {
        core.check(Function.RDMA_LISTEN, pointer(), backlog, 0, 0);
    }

    void resolveAddress(InetSocketAddress local, InetSocketAddress remote, int timeoutMillis) throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment from = copyOf(local, arena);
            MemorySegment to = copyOf(remote, arena);
            core.check(Function.RDMA_RESOLVE_ADDR, pointer(), from.address(), to.address(), timeoutMillis);
        }
    }

    void resolveRoute(int timeoutMillis) throws VerbsException {
        core.check(Function.RDMA_RESOLVE_ROUTE, pointer(), timeoutMillis, 0, 0);
    }

    void connect(ConnectionParameters parameters, int queuePairNumber) throws VerbsException {
        callWith(Function.RDMA_CONNECT, parameters, queuePairNumber);
    }

    void accept(ConnectionParameters parameters, int queuePairNumber) throws VerbsException {
        callWith(Function.RDMA_ACCEPT, parameters, queuePairNumber);
    }

    private void callWith(Function function, ConnectionParameters parameters, int queuePairNumber)
            throws VerbsException {
        byte[] data = parameters.privateData();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment copy = arena.allocate(Math.max(1, data.length));
            MemorySegment.copy(data, 0, copy, ValueLayout.JAVA_BYTE, 0, data.length);
            MemorySegment p = arena.allocate(Abi.RdmaConnParam.SIZE, 8);
            p.set(ValueLayout.JAVA_LONG, Abi.RdmaConnParam.PRIVATE_DATA, copy.address());
            p.set(ValueLayout.JAVA_BYTE, Abi.RdmaConnParam.PRIVATE_DATA_LEN, (byte) data.length);
            p.set(ValueLayout.JAVA_BYTE, Abi.RdmaConnParam.RESPONDER_RESOURCES, (byte) parameters.responderResources());
            p.set(ValueLayout.JAVA_BYTE, Abi.RdmaConnParam.INITIATOR_DEPTH, (byte) parameters.initiatorDepth());
            p.set(ValueLayout.JAVA_BYTE, Abi.RdmaConnParam.FLOW_CONTROL, (byte) 1);
            p.set(ValueLayout.JAVA_BYTE, Abi.RdmaConnParam.RETRY_COUNT, (byte) parameters.retryCount());
            p.set(ValueLayout.JAVA_BYTE, Abi.RdmaConnParam.RNR_RETRY_COUNT, (byte) parameters.rnrRetryCount());
            p.set(ValueLayout.JAVA_INT, Abi.RdmaConnParam.QP_NUM, queuePairNumber);
            core.check(function, pointer(), p.address(), 0, 0);
        }
    }

    void establish() throws VerbsException {
        core.check(Function.RDMA_ESTABLISH, pointer());
    }

    void reject(byte[] privateData) throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment copy = arena.allocate(Math.max(1, privateData.length));
            MemorySegment.copy(privateData, 0, copy, ValueLayout.JAVA_BYTE, 0, privateData.length);
            core.check(Function.RDMA_REJECT, pointer(), copy.address(), privateData.length, 0);
        }
    }

    /** Asks the peer to disconnect, or answers it; false if there is nothing to end any more. */
    boolean disconnect() {
        try {
            return core.status(Function.RDMA_DISCONNECT, pointer(), 0, 0, 0) == 0;
        } catch (VerbsException e) {
            return false;
        }
    }

    /** Tells the connection manager that a message came before its own. */
    void confirm() {
        int communicationEstablished = 4; // IBV_EVENT_COMM_EST
        try {
            // Fails where the manager's own message is already there.
            var _ = core.status(Function.RDMA_NOTIFY, pointer(), communicationEstablished, 0, 0);
        } catch (VerbsException e) {
            // Closed meanwhile: nobody to tell.
        }
    }

    /** Frees it and tells a peer that waits or is connected; waits for the event thread if that has an event of it in hand. */
    void destroy() {
        long closing;
        synchronized (this) {
            closing = pointer;
            pointer = 0;
        }
        receiver = null;
        if (closing != 0) {
            events.remove(closing);
            var _ = core.status(Function.RDMA_DESTROY_ID, closing, 0, 0, 0);
        }
    }
}

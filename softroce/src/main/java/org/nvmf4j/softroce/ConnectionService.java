package org.nvmf4j.softroce;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.linux.UdpPeer;
import org.nvmf4j.roce.cm.CmEvent;
import org.nvmf4j.roce.cm.CmTransmit;
import org.nvmf4j.roce.cm.ConnectionManager;
import org.nvmf4j.roce.wire.GsiPacket;
import org.nvmf4j.roce.wire.Icrc;
import org.nvmf4j.roce.wire.Mad;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.RejectReason;
import org.nvmf4j.verbs.spi.ProviderConnectionRequest;

/**
 * Connection management of a device: drives the state machine on the lane of vector 0, and passes what happens on to the lanes of
 * the queue pairs. Everything here belongs to vector 0's lane but {@link #listeners}; other lanes send tasks there.
 */
final class ConnectionService {
    private static final byte[] NOTHING = {};
    /** Ways to peers that sent or were sent MADs lately: making one takes far longer than a packet. */
    private static final int MAX_PATHS = 256;

    private final SoftRoceVector vector;
    private final InetAddress localAddress;
    private final ConnectionManager manager;
    private final @Nullable PacketTap tap;
    private final Map<Integer, SoftRoceConnection> connections = new HashMap<>();
    private final Map<Integer, SoftRoceConnectionRequest> requests = new HashMap<>();
    private final Map<InetAddress, PeerPath> paths = new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<InetAddress, PeerPath> eldest) {
            return size() > MAX_PATHS;
        }
    };
    /** By port; from any thread. */
    private final ConcurrentHashMap<Integer, Consumer<? super ProviderConnectionRequest>> listeners =
            new ConcurrentHashMap<>();

    private @Nullable CmTransmit waiting;
    private int nextPsn;

    ConnectionService(
            SoftRoceVector vector, InetAddress localAddress, ConnectionManager manager, @Nullable PacketTap tap) {
        this.vector = vector;
        this.localAddress = localAddress;
        this.manager = manager;
        this.tap = tap;
    }

    SoftRoceVector vector() {
        return vector;
    }

    // ------------------------------------------------------------------------------------------ what users want

    ConcurrentHashMap<Integer, Consumer<? super ProviderConnectionRequest>> listeners() {
        return listeners;
    }

    void listen(int port) {
        manager.listen(port);
    }

    void stopListening(int port) {
        manager.stopListening(port);
    }

    void connect(SoftRoceConnection connection, InetSocketAddress remote, int psn, ConnectionParameters own) {
        int id = manager.connect(remote, connection.queuePairNumber(), psn, own, System.nanoTime());
        connection.id(id);
        connection.localAddress(manager.localAddress(id));
        connections.put(id, connection);
    }

    void accept(SoftRoceConnectionRequest request, SoftRoceConnection connection, int psn, ConnectionParameters own) {
        int id = request.id();
        requests.remove(id);
        connection.id(id);
        if (manager.accept(id, connection.queuePairNumber(), psn, own, System.nanoTime())) {
            connections.put(id, connection);
        } else {
            connection.tell(c -> c.onFailed("the peer does not wait for an answer any more"));
        }
    }

    void confirm(SoftRoceConnection connection) {
        if (connections.get(connection.id()) == connection && manager.confirm(connection.id())) {
            vector.statistics().add(Counter.CONNECTIONS_ESTABLISHED, 1);
        }
    }

    void reject(int id, int reason, byte[] privateData) {
        requests.remove(id);
        manager.reject(id, reason, privateData);
        vector.statistics().add(Counter.CONNECTIONS_REJECTED, 1);
    }

    void onFirstPacket(SoftRoceConnection connection) {
        manager.onRcPacketReceived(connection.queuePairNumber());
    }

    void disconnect(SoftRoceConnection connection) {
        if (connections.get(connection.id()) == connection) {
            manager.disconnect(connection.id(), System.nanoTime());
        }
    }

    void abandon(SoftRoceConnection connection) {
        if (connections.remove(connection.id(), connection)) {
            manager.abandon(connection.id(), System.nanoTime());
        }
    }

    // ------------------------------------------------------------------------------------------ what happens

    /** Takes a packet to QP 1 that has the form of one. */
    void onPacket(MemorySegment m, ByteBuffer bytes, long offset, int lengthBytes, UdpPeer source, long nowNanos) {
        SoftRoceStatistics statistics = vector.statistics();
        if (!GsiPacket.isValid(m, offset, lengthBytes)) {
            statistics.add(Counter.DROPPED_MAD, 1);
            return;
        }
        InetAddress address = source.socketAddress().getAddress();
        PeerPath path = path(address);
        int ipv4Id = path.receiveIcrc().check(source.port(), 0, bytes, (int) offset, lengthBytes);
        if (ipv4Id == Icrc.BAD) {
            statistics.add(Counter.DROPPED_ICRC, 1);
            return;
        }
        if (tap != null) {
            tap.received(path.peer(), source.port(), m, offset, lengthBytes, ipv4Id);
        }
        statistics.add(Counter.MADS_RECEIVED, 1);
        manager.onPacket(m, offset, lengthBytes, address, nowNanos);
        statistics.set(Counter.DROPPED_CM_MESSAGE, manager.droppedMads());
    }

    private PeerPath path(InetAddress remote) {
        PeerPath known = paths.get(remote);
        if (known == null) {
            known = new PeerPath(localAddress, remote);
            paths.put(remote, known);
        }
        return known;
    }

    /** Timers and events; 0 if there were none. */
    int work(long nowNanos) {
        if (manager.nextDeadlineNanos() - nowNanos <= 0
                && manager.nextDeadlineNanos() != ConnectionManager.NO_DEADLINE) {
            manager.onTimeout(nowNanos);
        }
        int work = 0;
        for (CmEvent event = manager.pollEvent(); event != null; event = manager.pollEvent()) {
            onEvent(event);
            work++;
        }
        return work;
    }

    long remainingNanos(long nowNanos) {
        long deadline = manager.nextDeadlineNanos();
        return deadline == ConnectionManager.NO_DEADLINE ? Long.MAX_VALUE : deadline - nowNanos;
    }

    private void onEvent(CmEvent event) {
        switch (event) {
            case CmEvent.RequestReceived received -> onRequest(received);
            case CmEvent.RequestWithdrawn withdrawn -> {
                SoftRoceConnectionRequest request = requests.remove(withdrawn.connectionId());
                if (request != null) {
                    request.withdraw();
                }
            }
            case CmEvent.ReplyReceived reply ->
                tell(reply.connectionId(), false, c -> c.onReply(reply.path(), reply.peer()));
            case CmEvent.Established established -> {
                vector.statistics().add(Counter.CONNECTIONS_ESTABLISHED, 1);
                tell(established.connectionId(), false, c -> c.onEstablished(established.peer()));
            }
            case CmEvent.Rejected rejected -> {
                vector.statistics().add(Counter.CONNECTIONS_REJECTED, 1);
                tell(rejected.connectionId(), true, c -> c.onRejected(rejected.reason(), rejected.privateData()));
            }
            case CmEvent.Failed failed -> tell(failed.connectionId(), true, c -> c.onFailed(failed.cause()));
            case CmEvent.Disconnected disconnected -> {
                vector.statistics().add(Counter.CONNECTIONS_ENDED, 1);
                tell(disconnected.connectionId(), true, SoftRoceConnection::onDisconnected);
            }
        }
    }

    private void onRequest(CmEvent.RequestReceived received) {
        Consumer<? super ProviderConnectionRequest> handler =
                listeners.get(received.localAddress().getPort());
        if (handler == null) {
            reject(received.connectionId(), RejectReason.INVALID_SERVICE_ID, NOTHING);
            return;
        }
        SoftRoceConnectionRequest request = new SoftRoceConnectionRequest(vector.device(), received);
        requests.put(received.connectionId(), request);
        vector.execute(() -> handler.accept(request));
    }

    private void tell(int id, boolean last, Consumer<SoftRoceConnection> what) {
        SoftRoceConnection connection = last ? connections.remove(id) : connections.get(id);
        if (connection != null) {
            connection.tell(what);
        }
    }

    // ------------------------------------------------------------------------------------------ what leaves

    boolean wantsTransmit() {
        if (waiting == null) {
            waiting = manager.pollTransmit();
        }
        return waiting != null;
    }

    /** Sends what messages there are, as far as the batch has room. */
    void transmit(TransmitBatch batch) {
        while (wantsTransmit()) {
            CmTransmit message = waiting;
            if (message == null || !send(batch, message)) {
                return;
            }
            waiting = null;
        }
    }

    private boolean send(TransmitBatch batch, CmTransmit message) {
        batch.turn(path(message.destination()), GsiPacket.LENGTH);
        if (!batch.begin(GsiPacket.MAD_OFFSET + Mad.LENGTH, 0)) {
            return false;
        }
        MemorySegment m = batch.headerSegment();
        long offset = batch.headerOffset();
        GsiPacket.writeHeaders(m, offset, nextPsn);
        nextPsn = nextPsn + 1 & 0xFF_FFFF;
        MemorySegment.copy(message.mad(), 0, m, ValueLayout.JAVA_BYTE, offset + GsiPacket.MAD_OFFSET, Mad.LENGTH);
        batch.end();
        vector.statistics().add(Counter.MADS_SENT, 1);
        return true;
    }
}

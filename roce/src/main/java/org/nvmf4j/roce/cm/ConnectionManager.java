package org.nvmf4j.roce.cm;

import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.roce.cm.CmConnection.State;
import org.nvmf4j.roce.wire.CmMessage;
import org.nvmf4j.roce.wire.FlowLabel;
import org.nvmf4j.roce.wire.GsiPacket;
import org.nvmf4j.roce.wire.IpCmHeader;
import org.nvmf4j.roce.wire.Mad;
import org.nvmf4j.verbs.AddressText;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.RejectReason;

/**
 * Connection management of one device: makes and ends any number of connections with the CM messages of IBTA volume 1, chapter 12, as
 * Linux exchanges them over RoCEv2.
 *
 * <p>A state machine without I/O: calls bring in what the user wants, what arrived and what time it is; after each of them {@link
 * #pollTransmit} and {@link #pollEvent} are to be called until they give null, and {@link #onTimeout} when {@link
 * #nextDeadlineNanos} has come. Times are of one arbitrary clock and compare as {@link System#nanoTime} does. Queue pairs and their
 * numbers are the caller's. Confined to one thread.
 *
 * <p>Connections are named by an {@code int}, any 32 bits. A call for a connection that is over, or not in a state for it, does nothing.
 * Whatever arrives is checked; what makes no sense is dropped and counted. Memory is bounded by {@link CmOptions}.
 */
public final class ConnectionManager {
    /** No deadline, see {@link #nextDeadlineNanos}. */
    public static final long NO_DEADLINE = Long.MAX_VALUE;

    /** Private data that a REQ has room for beside the RDMA CM header. */
    public static final int MAX_REQUEST_PRIVATE_DATA_BYTES = CmMessage.privateDataBytes(Mad.REQ) - IpCmHeader.LENGTH;

    private final CmCore core;
    private final MessageReceiver receiver;
    private long droppedMads;

    public ConnectionManager(CmOptions options, RandomGenerator random) {
        core = new CmCore(options, random);
        receiver = new MessageReceiver(core);
    }

    /**
     * Begins to take requests for a port.
     *
     * @param port 1 to 65535, or 0 for a free one
     * @return the port
     * @throws IllegalStateException if there is a listener for the port
     */
    public int listen(int port) {
        if (port < 0 || port > 0xFFFF) {
            throw new IllegalArgumentException("port must be 0 to 65535, not " + port);
        }
        int chosen = port;
        while (chosen == 0 || (port == 0 && core.listening.contains(chosen))) {
            chosen = core.randomPort();
        }
        if (!core.listening.add(chosen)) {
            throw new IllegalStateException("port " + chosen + " has a listener already on " + address());
        }
        return chosen;
    }

    private String address() {
        return AddressText.of(core.options.localAddress());
    }

    /** Takes no more requests for a port; connections stay. */
    public void stopListening(int port) {
        core.listening.remove(port);
    }

    /**
     * Asks a peer for a connection. {@link CmEvent.ReplyReceived}, {@link CmEvent.Rejected} or {@link CmEvent.Failed} follows.
     *
     * @param remote address and port
     * @param localQpn the queue pair, which is in INIT
     * @param startingPsn which this side expects in the peer's first request
     * @param own with up to {@link #MAX_REQUEST_PRIVATE_DATA_BYTES} of private data
     * @return the connection ID
     */
    public int connect(
            InetSocketAddress remote, int localQpn, int startingPsn, ConnectionParameters own, long nowNanos) {
        InetAddress to = remote.getAddress();
        InetAddress from = core.options.localAddress();
        if (to == null || to.getAddress().length != from.getAddress().length) {
            throw new IllegalArgumentException("a device on " + address() + " cannot reach " + AddressText.of(remote));
        }
        if (own.privateData().length > MAX_REQUEST_PRIVATE_DATA_BYTES) {
            throw new IllegalArgumentException("private data of a connection request is at most "
                    + MAX_REQUEST_PRIVATE_DATA_BYTES + " bytes, not " + own.privateData().length);
        }
        InetSocketAddress local = new InetSocketAddress(from, core.randomPort());
        CmConnection c =
                new CmConnection(core.newId(), true, State.REQ_SENT, local, remote, core.newTransactionId(), own);
        c.localQpn = localQpn;
        c.startingPsn = startingPsn;
        c.udpSourcePort = FlowLabel.udpSourcePort(FlowLabel.ofPorts(local.getPort(), remote.getPort()));
        core.table.add(c);
        core.table.nameLocalQpn(c);
        core.sendWithRetries(c, core.writer.req(c), core.options.maxRetries(), nowNanos);
        return c.id;
    }

    /** Local address and port of a connection, or null if it is over. */
    public @Nullable InetSocketAddress localAddress(int connectionId) {
        CmConnection c = core.table.byId(connectionId);
        return c == null ? null : c.local;
    }

    /**
     * Accepts a request, with a queue pair that is READY TO SEND by {@link CmEvent.RequestReceived#path}. {@link
     * CmEvent.Established}, {@link CmEvent.Rejected} or {@link CmEvent.Failed} follows.
     *
     * @param startingPsn which this side expects in the peer's first request
     * @param own with up to 196 bytes of private data; READ limits are bounded by the peer's
     * @return false if the request was withdrawn or answered before
     */
    public boolean accept(int connectionId, int localQpn, int startingPsn, ConnectionParameters own, long nowNanos) {
        CmConnection c = core.table.byId(connectionId);
        if (c == null || c.request == null) {
            return false;
        }
        PathParameters path = c.request.path(localQpn, startingPsn, own);
        c.own = own;
        c.localQpn = localQpn;
        c.startingPsn = startingPsn;
        byte[] rep = core.writer.rep(c, path);
        c.peer = CmCore.bounded(c.request.parameters(), path);
        c.request = null;
        core.table.setState(c, State.REP_SENT);
        core.table.nameLocalQpn(c);
        core.sendWithRetries(c, rep, core.options.maxRetries(), nowNanos);
        return true;
    }

    /**
     * Goes on after {@link CmEvent.ReplyReceived}: tells the peer that it may send.
     *
     * @return false if the connection is over
     */
    public boolean confirm(int connectionId) {
        CmConnection c = core.table.byId(connectionId);
        if (c == null || c.state != State.REP_RECEIVED) {
            return false;
        }
        core.table.setState(c, State.ESTABLISHED);
        c.mad = core.writer.rtu(c);
        core.send(c.remoteAddress(), c.mad);
        return true;
    }

    /**
     * Refuses a request, or a reply that the user cannot take. No event follows.
     *
     * @param reason see {@link RejectReason}
     * @param privateData up to 148 bytes
     */
    public void reject(int connectionId, int reason, byte[] privateData) {
        CmConnection c = core.table.byId(connectionId);
        if (c != null && (c.state == State.REQ_RECEIVED || c.state == State.REP_RECEIVED)) {
            core.reject(c, reason, privateData);
        }
    }

    /** Ends a connection in whatever state; {@link CmEvent.Disconnected} follows when the peer has answered, or does not. */
    public void disconnect(int connectionId, long nowNanos) {
        CmConnection c = core.table.byId(connectionId);
        if (c == null) {
            return;
        }
        switch (c.state) {
            case ESTABLISHED, REP_SENT -> {
                core.table.setState(c, State.DREQ_SENT);
                byte[] dreq = core.writer.dreq(c, core.newTransactionId());
                core.sendWithRetries(c, dreq, core.options.maxDisconnectRetries(), nowNanos);
            }
            case REQ_SENT, REP_RECEIVED, REQ_RECEIVED -> {
                core.takeBack(c);
                core.events.add(new CmEvent.Disconnected(c.id));
            }
            case DREQ_SENT, TIME_WAIT, GONE -> {}
        }
    }

    /** Lets go of a connection in whatever state: tells the peer once, if it must know; no event follows. */
    public void abandon(int connectionId, long nowNanos) {
        core.events.removeIf(event -> event.connectionId() == connectionId);
        CmConnection c = core.table.byId(connectionId);
        if (c == null) {
            return;
        }
        switch (c.state) {
            case ESTABLISHED, REP_SENT -> {
                core.send(c.remoteAddress(), core.writer.dreq(c, core.newTransactionId()));
                core.toTimeWait(c, nowNanos);
            }
            case DREQ_SENT -> core.toTimeWait(c, nowNanos);
            case REQ_SENT, REP_RECEIVED, REQ_RECEIVED -> core.takeBack(c);
            case TIME_WAIT, GONE -> {}
        }
    }

    /**
     * Takes a packet to QP 1 whose ICRC is right.
     *
     * @param offset of the BTH
     * @param bytes of the UDP payload, ICRC included
     */
    public void onPacket(MemorySegment m, long offset, long bytes, InetAddress source, long nowNanos) {
        if (GsiPacket.isValid(m, offset, bytes)) {
            onMad(m, offset + GsiPacket.MAD_OFFSET, source, nowNanos);
        } else {
            droppedMads++;
        }
    }

    /** Takes a MAD of 256 bytes that came from QP 1 of {@code source}. */
    public void onMad(MemorySegment m, long offset, InetAddress source, long nowNanos) {
        if (!receiver.onMad(m, offset, source, nowNanos)) {
            droppedMads++;
        }
    }

    /** Tells that a queue pair has received a packet of its reliable connection, which counts as an RTU. Cheap, but for the first only. */
    public void onRcPacketReceived(int localQpn) {
        CmConnection c = core.table.byLocalQpn(localQpn);
        if (c != null && c.state == State.REP_SENT) {
            core.establish(c);
        }
    }

    /** Does what is due at {@code nowNanos}. */
    public void onTimeout(long nowNanos) {
        core.onTimeout(nowNanos);
    }

    /** When {@link #onTimeout} is wanted, or {@link #NO_DEADLINE}. */
    public long nextDeadlineNanos() {
        CmConnection c = core.table.firstTimer();
        return c == null ? NO_DEADLINE : c.deadlineNanos;
    }

    /** The next message to send, or null. */
    public @Nullable CmTransmit pollTransmit() {
        return core.transmits.poll();
    }

    /** The next event, or null. */
    public @Nullable CmEvent pollEvent() {
        return core.events.poll();
    }

    /** Messages that were not understood, or did not fit to any connection. */
    public long droppedMads() {
        return droppedMads;
    }

    /** Connections in any state, time-wait included. */
    public int connectionCount() {
        return core.table.size();
    }
}

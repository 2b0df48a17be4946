package org.nvmf4j.softroce;

import java.net.InetSocketAddress;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.roce.cm.CmEvent;
import org.nvmf4j.roce.cm.PathParameters;
import org.nvmf4j.verbs.AddressText;
import org.nvmf4j.verbs.Connection;
import org.nvmf4j.verbs.ConnectionHandler;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.RejectReason;
import org.nvmf4j.verbs.VerbsException;

/**
 * One side of a connection, as its user sees it: belongs to the lane of its queue pair, and speaks to connection management on vector
 * 0's lane by tasks.
 */
final class SoftRoceConnection implements Connection {
    /** Private data that a REQ, a REP and a REJ carry. */
    static final int REQUEST_BYTES = 56;

    static final int REPLY_BYTES = 196;
    static final int REJECT_BYTES = 148;

    private static final byte[] NOTHING = {};
    private static final String GIVEN_UP = "this side disconnected before the connection was established";

    private enum State {
        /** REQ sent. */
        CONNECTING,
        /** REP sent. */
        ACCEPTED,
        ESTABLISHED,
        DISCONNECTING,
        ENDED
    }

    private final SoftRoceQueuePair queuePair;
    private final ConnectionService service;
    private final ConnectionHandler handler;
    private final InetSocketAddress remote;
    private final ConnectionParameters own;
    /** What the connecting side wants, on the accepting side. */
    private final @Nullable ConnectionParameters asked;

    private volatile InetSocketAddress local;
    private State state;
    private boolean wasEstablished;
    /** Of connection management; vector 0's lane alone uses it. */
    private int id;

    private SoftRoceConnection(
            SoftRoceQueuePair queuePair,
            InetSocketAddress local,
            InetSocketAddress remote,
            ConnectionParameters own,
            @Nullable ConnectionParameters asked,
            ConnectionHandler handler,
            State state) {
        this.queuePair = queuePair;
        this.service = queuePair.vector().device().connectionService();
        this.local = local;
        this.remote = remote;
        this.own = own;
        this.asked = asked;
        this.handler = handler;
        this.state = state;
        queuePair.beginConnecting();
        queuePair.vector().add(this);
    }

    /** The connecting side. */
    static SoftRoceConnection connect(
            SoftRoceQueuePair queuePair,
            InetSocketAddress remote,
            ConnectionParameters own,
            ConnectionHandler handler) {
        SoftRoceDevice device = queuePair.vector().device();
        InetSocketAddress local = new InetSocketAddress(device.attributes().localAddress(), 0);
        SoftRoceConnection connection =
                new SoftRoceConnection(queuePair, local, remote, own, null, handler, State.CONNECTING);
        if (DeviceSockets.isDeadEnd(remote.getAddress())) {
            connection.tell(c -> c.onFailed("nothing listens at " + AddressText.of(remote.getAddress())
                    + ": no program of this machine has UDP port 4791 there; start the target first"));
            return connection;
        }
        int psn = device.newStartingPsn();
        connection.manage(service -> service.connect(connection, remote, psn, own));
        return connection;
    }

    /** The accepting side; the queue pair is ready to send when this returns. */
    static SoftRoceConnection accept(
            SoftRoceQueuePair queuePair,
            SoftRoceConnectionRequest request,
            CmEvent.RequestReceived received,
            ConnectionParameters own,
            ConnectionHandler handler) {
        SoftRoceConnection connection = new SoftRoceConnection(
                queuePair,
                received.localAddress(),
                received.remoteAddress(),
                own,
                received.parameters(),
                handler,
                State.ACCEPTED);
        int psn = queuePair.vector().device().newStartingPsn();
        queuePair.establish(received.path(queuePair.number(), psn, own));
        queuePair.awaitFirstPacket(connection);
        connection.manage(service -> service.accept(request, connection, psn, own));
        return connection;
    }

    int queuePairNumber() {
        return queuePair.number();
    }

    int id() {
        return id;
    }

    void id(int id) {
        this.id = id;
    }

    /** Vector 0's lane tells the port that the request was sent from. */
    void localAddress(@Nullable InetSocketAddress address) {
        if (address != null) {
            local = address;
        }
    }

    @Override
    public InetSocketAddress localAddress() {
        return local;
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return remote;
    }

    /** Has connection management do something. */
    private void manage(Consumer<ConnectionService> what) {
        service.vector().execute(() -> what.accept(service));
    }

    /** Has this connection's lane do something; from vector 0's lane. */
    void tell(Consumer<SoftRoceConnection> what) {
        queuePair.vector().execute(() -> what.accept(this));
    }

    // ------------------------------------------------------------------------------------------ what happens

    /** REP: the peer accepted. */
    void onReply(PathParameters path, ConnectionParameters peer) {
        if (state != State.CONNECTING) {
            return;
        }
        if (queuePair.state() != QueuePairState.INIT) {
            manage(service -> service.abandon(this));
            end();
            handler.onFailed(this, new VerbsException(GIVEN_UP));
            return;
        }
        queuePair.establish(path);
        state = State.ESTABLISHED;
        wasEstablished = true;
        manage(service -> service.confirm(this));
        handler.onEstablished(this, peer);
    }

    /** A packet came over the connection: that is as good as an RTU, and may overtake it. In the midst of a batch. */
    void onFirstPacket() {
        manage(service -> service.onFirstPacket(this));
        ConnectionParameters peer = asked;
        if (state == State.ACCEPTED && peer != null) {
            ConnectionParameters bounded = new ConnectionParameters(
                    NOTHING,
                    Math.min(peer.responderResources(), own.initiatorDepth()),
                    Math.min(peer.initiatorDepth(), own.responderResources()),
                    peer.retryCount(),
                    peer.rnrRetryCount());
            tell(connection -> connection.onEstablished(bounded));
        }
    }

    /** RTU, or what counts as one. */
    void onEstablished(ConnectionParameters peer) {
        if (state == State.ACCEPTED) {
            state = State.ESTABLISHED;
            wasEstablished = true;
            queuePair.awaitFirstPacket(null);
            handler.onEstablished(this, peer);
        }
    }

    /** REJ: the peer refused the request, or gave up before it had the reply. */
    void onRejected(int reason, byte[] privateData) {
        if (!finish()) {
            return;
        }
        if (asked == null) {
            handler.onRejected(this, reason, privateData);
        } else {
            tellEnd("the peer took its connection request back: " + RejectReason.words(reason));
        }
    }

    void onFailed(String cause) {
        if (finish()) {
            tellEnd(cause);
        }
    }

    /** DREQ or DREP, or no answer to a DREQ. */
    void onDisconnected() {
        boolean byThisSide = state == State.DISCONNECTING;
        if (finish()) {
            tellEnd(byThisSide ? GIVEN_UP : "the peer went away before the connection was established");
        }
    }

    /** Ends the connection, unless it has ended before. */
    private boolean finish() {
        if (state == State.ENDED) {
            return false;
        }
        if (queuePair.state() == QueuePairState.READY_TO_SEND) {
            queuePair.toError();
        }
        end();
        return true;
    }

    private void tellEnd(String whyNotEstablished) {
        if (wasEstablished) {
            handler.onDisconnected(this);
        } else {
            handler.onFailed(this, new VerbsException(whyNotEstablished));
        }
    }

    // ------------------------------------------------------------------------------------------ what the user wants

    @Override
    public void disconnect() {
        if (state == State.DISCONNECTING || state == State.ENDED) {
            return;
        }
        state = State.DISCONNECTING;
        queuePair.toError();
        manage(service -> service.disconnect(this));
    }

    @Override
    public void close() {
        if (state != State.ENDED) {
            end();
            manage(service -> service.abandon(this));
        }
    }

    private void end() {
        state = State.ENDED;
        queuePair.endConnecting();
        queuePair.vector().remove(this);
    }
}

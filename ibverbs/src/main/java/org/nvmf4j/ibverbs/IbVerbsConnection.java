package org.nvmf4j.ibverbs;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.nvmf4j.verbs.AddressText;
import org.nvmf4j.verbs.Connection;
import org.nvmf4j.verbs.ConnectionHandler;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.VectorTimers;

/**
 * One side of a connection: what rdma_cm's events mean to a queue pair that rdma_cm does not know. Everything but the arrival of events
 * is on the queue pair's lane.
 */
final class IbVerbsConnection implements Connection {
    private static final System.Logger LOG = System.getLogger(IbVerbsConnection.class.getName());
    /** Private data that a REQ, a REP and a REJ carry. */
    static final int REQUEST_BYTES = 56;

    static final int REPLY_BYTES = 196;
    static final int REJECT_BYTES = 148;

    private static final int RESOLVE_MILLIS = 3000;
    /** The kernel tells the peer to wait while its user thinks, for more than a minute: no user should take so long. */
    private static final long ANSWER_SECONDS = 15;

    private static final long CONFIRM_SECONDS = 20;
    private static final long DISCONNECT_SECONDS = 3;
    private static final String GIVEN_UP = "this side disconnected before the connection was established";

    private enum State {
        /** Address, then route. */
        RESOLVING,
        /** REQ sent. */
        CONNECTING,
        /** REP sent. */
        ACCEPTED,
        ESTABLISHED,
        /** DREQ sent, or withdrawn before it was established. */
        DISCONNECTING,
        ENDED
    }

    private final IbVerbsQueuePair queuePair;
    private final IbVerbsVector vector;
    private final CmId id;
    private final InetSocketAddress remote;
    /** What this side said. */
    private final ConnectionParameters parameters;
    /** What the connecting side asked for; on the connecting side its own. */
    private final ConnectionParameters asked;

    private final ConnectionHandler handler;
    private final VectorTimers.Timer timer;
    private InetSocketAddress local;
    private State state;
    private boolean wasEstablished;

    private IbVerbsConnection(
            IbVerbsQueuePair queuePair,
            CmId id,
            InetSocketAddress local,
            InetSocketAddress remote,
            ConnectionParameters parameters,
            ConnectionParameters asked,
            ConnectionHandler handler,
            State state) {
        this.queuePair = queuePair;
        this.vector = queuePair.vector();
        this.id = id;
        this.local = local;
        this.remote = remote;
        this.parameters = parameters;
        this.asked = asked;
        this.handler = handler;
        this.state = state;
        this.timer = vector.timers().new Timer(this::onTimeout);
        queuePair.beginConnecting();
        id.receiver(event -> vector.send(() -> onEvent(event)));
        vector.add(this);
    }

    static IbVerbsConnection connect(
            IbVerbsQueuePair queuePair,
            CmId id,
            InetSocketAddress remote,
            ConnectionParameters parameters,
            ConnectionHandler handler)
            throws VerbsException {
        InetAddress own = queuePair.vector().device().attributes().localAddress();
        IbVerbsConnection connection = new IbVerbsConnection(
                queuePair, id, new InetSocketAddress(own, 0), remote, parameters, parameters, handler, State.RESOLVING);
        try {
            id.resolveAddress(connection.local, remote, RESOLVE_MILLIS);
            connection.local = id.localAddress();
        } catch (VerbsException e) {
            connection.end();
            throw e;
        }
        connection.timer.arm(TimeUnit.SECONDS.toNanos(ANSWER_SECONDS));
        return connection;
    }

    /** The accepting side; the queue pair is ready to send when this returns. */
    static IbVerbsConnection accept(
            IbVerbsQueuePair queuePair,
            CmId id,
            IbVerbsConnectionRequest request,
            ConnectionParameters parameters,
            ConnectionHandler handler)
            throws VerbsException {
        IbVerbsConnection connection = new IbVerbsConnection(
                queuePair,
                id,
                request.localAddress(),
                request.remoteAddress(),
                parameters,
                request.parameters(),
                handler,
                State.ACCEPTED);
        int depth = Math.min(parameters.initiatorDepth(), request.parameters().responderResources());
        try {
            queuePair.establish(id, depth, parameters.responderResources(), connection);
            id.accept(parameters, queuePair.number());
        } catch (VerbsException e) {
            connection.end();
            queuePair.toError();
            throw new VerbsException(
                    "the peer does not wait for an answer to its connection request any more (" + e.getMessage() + ")",
                    e.errno());
        }
        connection.timer.arm(TimeUnit.SECONDS.toNanos(CONFIRM_SECONDS));
        return connection;
    }

    @Override
    public InetSocketAddress localAddress() {
        return local;
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return remote;
    }

    private void onEvent(CmEvent event) {
        if (state == State.ENDED) {
            return;
        }
        switch (event.type()) {
            case ADDR_RESOLVED -> onAddressResolved();
            case ROUTE_RESOLVED -> onRouteResolved();
            case CONNECT_RESPONSE -> onAccepted(event.said());
            case ESTABLISHED -> onConfirmed();
            case REJECTED -> onRejected(event);
            case DISCONNECTED -> onDisconnected();
            case ADDR_ERROR -> onNotConnected("no way to " + peer() + ": " + event.reason());
            case ROUTE_ERROR -> onNotConnected("no route to " + peer() + ": " + event.reason());
            case UNREACHABLE, CONNECT_ERROR -> onNotConnected("no answer from " + peer() + ": " + event.reason());
            case DEVICE_REMOVAL -> vector.device().onRemoved();
            case ADDR_CHANGE ->
                LOG.log(
                        System.Logger.Level.WARNING,
                        "the interface of RDMA device " + vector.device().name()
                                + " has another hardware address: the connection with " + peer()
                                + " goes on as it was; if nothing gets through any more, connect again");
            case CONNECT_REQUEST, MULTICAST_JOIN, MULTICAST_ERROR, TIMEWAIT_EXIT, OTHER -> {
                // Nothing that changes a connection.
            }
        }
    }

    private String peer() {
        return AddressText.of(remote.getAddress()) + " port " + remote.getPort();
    }

    private void onAddressResolved() {
        if (state != State.RESOLVING) {
            return;
        }
        try {
            if (id.context() != vector.device().context()) {
                throw new VerbsException("the way to " + peer() + " is not through device "
                        + vector.device().name());
            }
            local = id.localAddress();
            id.resolveRoute(RESOLVE_MILLIS);
        } catch (VerbsException e) {
            fail(e);
        }
    }

    private void onRouteResolved() {
        if (state != State.RESOLVING) {
            return;
        }
        try {
            id.connect(parameters, queuePair.number());
            state = State.CONNECTING;
        } catch (VerbsException e) {
            fail(e);
        }
    }

    /** REP: the peer accepted. */
    private void onAccepted(ConnectionParameters answer) {
        if (state != State.CONNECTING || queuePair.state() != QueuePairState.INIT) {
            fail(new VerbsException(GIVEN_UP));
            return;
        }
        try {
            int depth = Math.min(parameters.initiatorDepth(), answer.responderResources());
            queuePair.establish(id, depth, parameters.responderResources(), null);
            id.establish();
        } catch (VerbsException e) {
            queuePair.toError();
            fail(e);
            return;
        }
        timer.cancel();
        state = State.ESTABLISHED;
        wasEstablished = true;
        handler.onEstablished(this, bounded(answer, parameters, answer.privateData()));
    }

    /** A message of the peer's came before the connection manager's: the connection is established. */
    void onFirstMessage() {
        if (state == State.ACCEPTED) {
            id.confirm();
            onConfirmed();
        }
    }

    /** RTU: the connecting side heard the answer. */
    private void onConfirmed() {
        if (state == State.ACCEPTED) {
            timer.cancel();
            queuePair.confirmed();
            state = State.ESTABLISHED;
            wasEstablished = true;
            handler.onEstablished(this, bounded(asked, parameters, new byte[0]));
        }
    }

    /** One side's READ limits as far as the other's allow them. */
    private static ConnectionParameters bounded(ConnectionParameters said, ConnectionParameters other, byte[] data) {
        return new ConnectionParameters(
                data,
                Math.min(said.responderResources(), other.initiatorDepth()),
                Math.min(said.initiatorDepth(), other.responderResources()),
                said.retryCount(),
                said.rnrRetryCount());
    }

    /** REJ: the peer's user, or its device, refused; or the connecting side gave up. */
    private void onRejected(CmEvent event) {
        if (state == State.ACCEPTED) {
            queuePair.toError();
            tellEnd("the peer went away before the connection was established");
        } else {
            end();
            handler.onRejected(this, event.status(), event.said().privateData());
        }
    }

    private void onDisconnected() {
        queuePair.toError();
        if (state != State.DISCONNECTING) {
            id.disconnect(); // this is what answers the peer
        }
        tellEnd("the peer went away before the connection was established");
    }

    /** The device is gone, and the queue pair has ended. */
    void onRemoved() {
        tellEnd(IbVerbsDevice.REMOVED);
    }

    private void onNotConnected(String why) {
        if (state == State.ACCEPTED) {
            queuePair.toError();
        }
        fail(new VerbsException(why));
    }

    private void onTimeout() {
        switch (state) {
            case RESOLVING, CONNECTING ->
                fail(new VerbsException("no answer from " + peer() + " within " + ANSWER_SECONDS + " s"));
            case ACCEPTED -> {
                queuePair.toError();
                tellEnd("the peer did not confirm the connection within " + CONFIRM_SECONDS + " s");
            }
            case DISCONNECTING -> tellEnd(GIVEN_UP);
            case ESTABLISHED, ENDED -> {
                // Its event came first.
            }
        }
    }

    private void fail(VerbsException why) {
        end();
        handler.onFailed(this, why);
    }

    private void tellEnd(String whyNotEstablished) {
        if (state == State.ENDED) {
            return;
        }
        end();
        if (wasEstablished) {
            handler.onDisconnected(this);
        } else {
            handler.onFailed(this, new VerbsException(whyNotEstablished));
        }
    }

    private void end() {
        state = State.ENDED;
        timer.cancel();
        vector.remove(this);
        queuePair.endConnecting();
        id.destroy();
    }

    @Override
    public void disconnect() {
        if (state == State.DISCONNECTING || state == State.ENDED) {
            return;
        }
        boolean begun = state == State.ESTABLISHED || state == State.ACCEPTED;
        queuePair.toError();
        boolean asksPeer = begun && id.disconnect();
        state = State.DISCONNECTING;
        if (asksPeer) {
            timer.arm(TimeUnit.SECONDS.toNanos(DISCONNECT_SECONDS));
        } else {
            timer.cancel();
            id.destroy(); // this tells a peer that has the request
            vector.send(() -> tellEnd(GIVEN_UP));
        }
    }

    @Override
    public void close() {
        if (state == State.ENDED) {
            return;
        }
        if (state == State.ESTABLISHED || state == State.ACCEPTED) {
            id.disconnect();
        }
        end();
    }
}

package org.nvmf4j.verbs.loopback;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.AddressText;
import org.nvmf4j.verbs.Connection;
import org.nvmf4j.verbs.ConnectionHandler;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.DeviceChecks;
import org.nvmf4j.verbs.spi.VectorTimers;

/**
 * One side of a connection: connection management with the messages of IBTA's (REQ, REP, RTU, REJ, DREQ, DREP), each a task on the
 * other side's lane.
 */
final class LoopbackConnection implements Connection {
    /** Private data that a REQ, a REP and a REJ carry; what is shorter is zero-padded. */
    static final int REQUEST_BYTES = 56;

    static final int REPLY_BYTES = 196;
    static final int REJECT_BYTES = 148;

    /** For the peer's user to accept or reject. */
    private static final long ANSWER_SECONDS = 5;
    /** For the peer's lane to take the answer in, which a machine under load may keep from running. */
    private static final long CONFIRM_SECONDS = 30;

    private static final long DISCONNECT_SECONDS = 1;
    private static final String GIVEN_UP = "this side disconnected before the connection was established";
    private static final int FIRST_SOURCE_PORT = 32768;
    private static final int SOURCE_PORTS = 28232;

    private enum State {
        /** REQ sent. */
        CONNECTING,
        /** REP sent. */
        ACCEPTED,
        ESTABLISHED,
        /** DREQ sent, or withdrawn before it was established. */
        DISCONNECTING,
        ENDED
    }

    private final LoopbackQueuePair queuePair;
    private final LoopbackVector vector;
    private final InetSocketAddress local;
    private final InetSocketAddress remote;
    private final ConnectionParameters parameters;
    private final ConnectionHandler handler;
    private final VectorTimers.Timer timer;
    private State state;
    private boolean wasEstablished;

    /** What the connecting side asked for. */
    private @Nullable LoopbackConnectionRequest request;

    private @Nullable LoopbackConnection peer;

    private LoopbackConnection(
            LoopbackQueuePair queuePair,
            InetSocketAddress local,
            InetSocketAddress remote,
            ConnectionParameters parameters,
            ConnectionHandler handler,
            State state) {
        this.queuePair = queuePair;
        this.vector = queuePair.vector();
        this.local = local;
        this.remote = remote;
        this.parameters = parameters;
        this.handler = handler;
        this.state = state;
        this.timer = vector.timers().new Timer(this::onTimeout);
        queuePair.beginConnecting();
        vector.add(this);
    }

    static LoopbackConnection connect(
            LoopbackQueuePair queuePair,
            InetSocketAddress remote,
            ConnectionParameters parameters,
            ConnectionHandler handler) {
        byte[] data = pad(parameters.privateData(), REQUEST_BYTES);
        InetAddress own = queuePair.vector().device().attributes().localAddress();
        int port = FIRST_SOURCE_PORT + ThreadLocalRandom.current().nextInt(SOURCE_PORTS);
        InetSocketAddress local = new InetSocketAddress(own, port);
        LoopbackConnection connection =
                new LoopbackConnection(queuePair, local, remote, parameters, handler, State.CONNECTING);
        LoopbackDevice device = LoopbackNetwork.find(remote.getAddress());
        if (device != null) {
            LoopbackConnectionRequest request =
                    new LoopbackConnectionRequest(connection, device, local, remote, withData(parameters, data));
            connection.request = request;
            if (device.offer(request)) {
                connection.timer.arm(TimeUnit.SECONDS.toNanos(ANSWER_SECONDS));
                return connection;
            }
        }
        connection.request = null;
        connection.vector.send(connection::onNobodyThere);
        return connection;
    }

    /** The accepting side; the queue pair is ready to send when this returns. */
    static LoopbackConnection accept(
            LoopbackQueuePair queuePair,
            LoopbackConnectionRequest request,
            ConnectionParameters parameters,
            byte[] data,
            ConnectionHandler handler) {
        LoopbackConnection asking = request.connection();
        ConnectionParameters asked = request.parameters();
        LoopbackConnection connection = new LoopbackConnection(
                queuePair, request.localAddress(), request.remoteAddress(), parameters, handler, State.ACCEPTED);
        connection.peer = asking;
        connection.request = request;
        int depth = Math.min(parameters.initiatorDepth(), asked.responderResources());
        queuePair.establish(asking.queuePair, depth, asked.retryCount(), asked.rnrRetryCount());
        connection.timer.arm(TimeUnit.SECONDS.toNanos(CONFIRM_SECONDS));
        ConnectionParameters answer = withData(bounded(parameters, asked), data);
        connection.sendToPeer(() -> asking.onAccepted(connection, answer));
        return connection;
    }

    /** One side's READ limits as far as the other's allow them. */
    private static ConnectionParameters bounded(ConnectionParameters said, ConnectionParameters other) {
        return new ConnectionParameters(
                said.privateData(),
                Math.min(said.responderResources(), other.initiatorDepth()),
                Math.min(said.initiatorDepth(), other.responderResources()),
                said.retryCount(),
                said.rnrRetryCount());
    }

    private static ConnectionParameters withData(ConnectionParameters parameters, byte[] data) {
        return new ConnectionParameters(
                data,
                parameters.responderResources(),
                parameters.initiatorDepth(),
                parameters.retryCount(),
                parameters.rnrRetryCount());
    }

    static byte[] pad(byte[] data, int bytes) {
        DeviceChecks.privateData(data, bytes);
        return Arrays.copyOf(data, bytes);
    }

    LoopbackVector vector() {
        return vector;
    }

    private LoopbackConnectionRequest request() {
        return Objects.requireNonNull(request);
    }

    private LoopbackConnection peer() {
        return Objects.requireNonNull(peer);
    }

    @Override
    public InetSocketAddress localAddress() {
        return local;
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return remote;
    }

    /** REP: the peer accepted. */
    private void onAccepted(LoopbackConnection accepting, ConnectionParameters answer) {
        peer = accepting;
        if (state == State.CONNECTING && !queuePair.isGone()) {
            timer.cancel();
            queuePair.establish(
                    accepting.queuePair, answer.responderResources(), parameters.retryCount(), answer.rnrRetryCount());
            state = State.ESTABLISHED;
            wasEstablished = true;
            sendToPeer(accepting::onReadyToUse);
            handler.onEstablished(this, answer);
            return;
        }
        sendToPeer(() -> accepting.onDisconnectRequest(this));
        if (state != State.ENDED) {
            end();
            handler.onFailed(this, new VerbsException(GIVEN_UP));
        }
    }

    /** RTU: the connecting side heard the answer. */
    private void onReadyToUse() {
        if (state == State.ACCEPTED) {
            timer.cancel();
            state = State.ESTABLISHED;
            wasEstablished = true;
            handler.onEstablished(this, withData(bounded(request().parameters(), parameters), new byte[0]));
        } else if (state == State.ENDED) {
            LoopbackConnection asking = peer();
            sendToPeer(() -> asking.onDisconnectRequest(this));
        }
    }

    /** REJ: the peer's user, or its device, refused. */
    void onRejected(int reason, byte[] privateData) {
        if (state == State.CONNECTING || state == State.DISCONNECTING) {
            end();
            handler.onRejected(this, reason, privateData);
        }
    }

    /** DREQ: the peer ends the connection. */
    private void onDisconnectRequest(LoopbackConnection from) {
        from.vector.send(from::onDisconnectReply);
        if (state != State.ENDED) {
            queuePair.toError();
            tellEnd("the peer went away before the connection was established");
        }
    }

    /** DREP: the peer knows that this side ended the connection. */
    private void onDisconnectReply() {
        if (state == State.DISCONNECTING) {
            tellEnd(GIVEN_UP);
        }
    }

    private void onTimeout() {
        switch (state) {
            case CONNECTING ->
                failIfConnecting("no answer from " + AddressText.of(remote.getAddress()) + " port " + remote.getPort()
                        + " within " + ANSWER_SECONDS + " s");
            case ACCEPTED -> {
                queuePair.toError();
                tellEnd("the peer did not confirm the connection within " + CONFIRM_SECONDS + " s");
            }
            case DISCONNECTING -> tellEnd(GIVEN_UP);
            case ESTABLISHED, ENDED -> {
                // Its message came first.
            }
        }
    }

    private void onNobodyThere() {
        failIfConnecting("no loopback device of this process has the address "
                + AddressText.of(remote.getAddress())
                + ": open one there, or use a provider that reaches other processes");
    }

    private void failIfConnecting(String why) {
        if (state != State.CONNECTING) {
            return;
        }
        if (withdraw()) {
            end();
            handler.onFailed(this, new VerbsException(why));
        } // else the answer is in this lane's mailbox
    }

    /** Whether the peer will not answer any more. */
    private boolean withdraw() {
        LoopbackConnectionRequest asked = request;
        return asked == null || asked.withdraw();
    }

    private void tellEnd(String whyNotEstablished) {
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
    }

    @Override
    public void disconnect() {
        if (state == State.DISCONNECTING || state == State.ENDED) {
            return;
        }
        queuePair.toError();
        boolean askedPeer = tellPeerOfEnd();
        state = State.DISCONNECTING;
        if (askedPeer) {
            timer.arm(TimeUnit.SECONDS.toNanos(DISCONNECT_SECONDS));
        } else {
            vector.send(this::onDisconnectReply);
        }
    }

    /** Sends the peer a DREQ, or takes the request back. False if no answer will come. */
    private boolean tellPeerOfEnd() {
        if (state == State.CONNECTING) {
            return !withdraw();
        }
        LoopbackConnection other = peer();
        return sendToPeer(() -> other.onDisconnectRequest(this));
    }

    private boolean sendToPeer(Runnable message) {
        return peer().vector.send(message);
    }

    @Override
    public void close() {
        if (state == State.ENDED) {
            return;
        }
        if (state != State.DISCONNECTING) {
            tellPeerOfEnd();
        }
        end();
    }
}

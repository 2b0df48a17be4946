package org.nvmf4j.verbs.loopback;

import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicReference;
import org.nvmf4j.verbs.Connection;
import org.nvmf4j.verbs.ConnectionHandler;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.RejectReason;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.ProviderConnectionRequest;
import org.nvmf4j.verbs.spi.ProviderQueuePair;
import org.nvmf4j.verbs.spi.QueuePairChecks;

/** A REQ: it is answered by the one side or withdrawn by the other, whichever comes first. */
final class LoopbackConnectionRequest implements ProviderConnectionRequest {
    private enum State {
        PENDING,
        ANSWERED,
        WITHDRAWN
    }

    private final LoopbackConnection connection;
    private final LoopbackDevice device;
    private final InetSocketAddress asking;
    private final InetSocketAddress asked;
    private final ConnectionParameters parameters;
    private final AtomicReference<State> state = new AtomicReference<>(State.PENDING);

    LoopbackConnectionRequest(
            LoopbackConnection connection,
            LoopbackDevice device,
            InetSocketAddress asking,
            InetSocketAddress asked,
            ConnectionParameters parameters) {
        this.connection = connection;
        this.device = device;
        this.asking = asking;
        this.asked = asked;
        this.parameters = parameters;
    }

    LoopbackConnection connection() {
        return connection;
    }

    /** Takes the request back; false if it was answered already. From any thread. */
    boolean withdraw() {
        return state.compareAndSet(State.PENDING, State.WITHDRAWN);
    }

    @Override
    public InetSocketAddress localAddress() {
        return asked;
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return asking;
    }

    @Override
    public ConnectionParameters parameters() {
        return parameters;
    }

    @Override
    public Connection accept(ProviderQueuePair queuePair, ConnectionParameters answer, ConnectionHandler handler)
            throws VerbsException {
        QueuePairChecks.connect(device.attributes(), answer);
        LoopbackQueuePair own = device.ownQueuePair(queuePair);
        own.checkConnectable();
        byte[] data = LoopbackConnection.pad(answer.privateData(), LoopbackConnection.REPLY_BYTES);
        if (!state.compareAndSet(State.PENDING, State.ANSWERED)) {
            throw new VerbsException(
                    state.get() == State.ANSWERED
                            ? "the connection request was answered already"
                            : "the peer does not wait for an answer to its connection request any more");
        }
        return LoopbackConnection.accept(own, this, answer, data, handler);
    }

    @Override
    public void reject(byte[] privateData) {
        refuse(RejectReason.CONSUMER_DEFINED, privateData);
    }

    /** Sends a REJ unless the request was answered or withdrawn. */
    void refuse(int reason, byte[] privateData) {
        byte[] data = LoopbackConnection.pad(privateData, LoopbackConnection.REJECT_BYTES);
        if (state.compareAndSet(State.PENDING, State.ANSWERED)) {
            connection.vector().send(() -> connection.onRejected(reason, data));
        }
    }
}

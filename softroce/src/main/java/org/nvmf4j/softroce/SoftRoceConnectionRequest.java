package org.nvmf4j.softroce;

import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicReference;
import org.nvmf4j.roce.cm.CmEvent;
import org.nvmf4j.verbs.Connection;
import org.nvmf4j.verbs.ConnectionHandler;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.RejectReason;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.DeviceChecks;
import org.nvmf4j.verbs.spi.ProviderConnectionRequest;
import org.nvmf4j.verbs.spi.ProviderQueuePair;
import org.nvmf4j.verbs.spi.QueuePairChecks;

/** A peer's request: answered once by its user, or withdrawn, whichever comes first. */
final class SoftRoceConnectionRequest implements ProviderConnectionRequest {
    private enum State {
        PENDING,
        ANSWERED,
        WITHDRAWN
    }

    private final SoftRoceDevice device;
    private final CmEvent.RequestReceived received;
    private final AtomicReference<State> state = new AtomicReference<>(State.PENDING);

    SoftRoceConnectionRequest(SoftRoceDevice device, CmEvent.RequestReceived received) {
        this.device = device;
        this.received = received;
    }

    int id() {
        return received.connectionId();
    }

    void withdraw() {
        state.compareAndSet(State.PENDING, State.WITHDRAWN);
    }

    @Override
    public InetSocketAddress localAddress() {
        return received.localAddress();
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return received.remoteAddress();
    }

    @Override
    public ConnectionParameters parameters() {
        return received.parameters();
    }

    @Override
    public Connection accept(ProviderQueuePair queuePair, ConnectionParameters parameters, ConnectionHandler handler)
            throws VerbsException {
        QueuePairChecks.connect(device.attributes(), parameters);
        SoftRoceQueuePair own = device.ownQueuePair(queuePair);
        own.checkConnectable();
        DeviceChecks.privateData(parameters.privateData(), SoftRoceConnection.REPLY_BYTES);
        if (!state.compareAndSet(State.PENDING, State.ANSWERED)) {
            throw new VerbsException(
                    state.get() == State.ANSWERED
                            ? "the connection request was answered already"
                            : "the peer does not wait for an answer to its connection request any more");
        }
        return SoftRoceConnection.accept(own, this, received, parameters, handler);
    }

    @Override
    public void reject(byte[] privateData) {
        DeviceChecks.privateData(privateData, SoftRoceConnection.REJECT_BYTES);
        if (state.compareAndSet(State.PENDING, State.ANSWERED)) {
            ConnectionService service = device.connectionService();
            service.vector().execute(() -> service.reject(id(), RejectReason.CONSUMER_DEFINED, privateData));
        }
    }
}

package org.nvmf4j.ibverbs;

import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicReference;
import org.nvmf4j.verbs.Connection;
import org.nvmf4j.verbs.ConnectionHandler;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.DeviceChecks;
import org.nvmf4j.verbs.spi.ProviderConnectionRequest;
import org.nvmf4j.verbs.spi.ProviderQueuePair;
import org.nvmf4j.verbs.spi.QueuePairChecks;

/** A REQ: it is answered by this side or withdrawn by the other, whichever comes first. */
final class IbVerbsConnectionRequest implements ProviderConnectionRequest {
    private enum State {
        PENDING,
        ANSWERED,
        WITHDRAWN
    }

    private final IbVerbsDevice device;
    private final CmId id;
    private final InetSocketAddress local;
    private final InetSocketAddress remote;
    private final ConnectionParameters parameters;
    private final AtomicReference<State> state = new AtomicReference<>(State.PENDING);

    IbVerbsConnectionRequest(IbVerbsDevice device, CmId id, ConnectionParameters parameters) throws VerbsException {
        this.device = device;
        this.id = id;
        this.local = id.localAddress();
        this.remote = id.remoteAddress();
        this.parameters = parameters;
        id.receiver(this::onEvent);
    }

    /** Whatever happens before the answer is the end of it. */
    private void onEvent(CmEvent event) {
        if (state.compareAndSet(State.PENDING, State.WITHDRAWN)) {
            id.destroy();
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

    @Override
    public ConnectionParameters parameters() {
        return parameters;
    }

    @Override
    public Connection accept(ProviderQueuePair queuePair, ConnectionParameters answer, ConnectionHandler handler)
            throws VerbsException {
        QueuePairChecks.connect(device.attributes(), answer);
        IbVerbsQueuePair own = device.ownQueuePair(queuePair);
        own.checkConnectable();
        DeviceChecks.privateData(answer.privateData(), IbVerbsConnection.REPLY_BYTES);
        if (!state.compareAndSet(State.PENDING, State.ANSWERED)) {
            throw new VerbsException(
                    state.get() == State.ANSWERED
                            ? "the connection request was answered already"
                            : "the peer does not wait for an answer to its connection request any more");
        }
        return IbVerbsConnection.accept(own, id, this, answer, handler);
    }

    @Override
    public void reject(byte[] privateData) {
        DeviceChecks.privateData(privateData, IbVerbsConnection.REJECT_BYTES);
        if (state.compareAndSet(State.PENDING, State.ANSWERED)) {
            try {
                id.reject(privateData);
            } catch (VerbsException e) {
                // The peer has gone already: nobody to tell.
            }
            id.destroy();
        }
    }
}

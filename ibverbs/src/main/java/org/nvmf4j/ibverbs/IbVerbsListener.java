package org.nvmf4j.ibverbs;

import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.AddressText;
import org.nvmf4j.verbs.Listener;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.ProviderConnectionRequest;
import org.nvmf4j.verbs.spi.VectorTimers;

/**
 * Takes connection requests on a port. Where the interface gets another hardware address, as a bond does that fails over, the kernel's
 * listener is bound to the old one: then this listens again, as nvmet does.
 */
final class IbVerbsListener implements Listener {
    private static final System.Logger LOG = System.getLogger(IbVerbsListener.class.getName());
    private static final int BACKLOG = 1024;
    private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final IbVerbsDevice device;
    private final IbVerbsVector vector;
    private final Consumer<? super ProviderConnectionRequest> handler;
    private final InetSocketAddress local;
    /** Of vector 0's lane. */
    private final VectorTimers.Timer retry;

    private @Nullable CmId id;
    private boolean closed;

    /**
     * Listens.
     *
     * @param port 0 for any
     * @throws VerbsException if it cannot, with EADDRINUSE if somebody else does
     */
    IbVerbsListener(IbVerbsDevice device, int port, Consumer<? super ProviderConnectionRequest> handler)
            throws VerbsException {
        this.device = device;
        this.handler = handler;
        vector = (IbVerbsVector) device.vector(0);
        retry = vector.timers().new Timer(this::listenAgain);
        CmId first = bind(port);
        id = first;
        local = first.localAddress();
    }

    private CmId bind(int port) throws VerbsException {
        CmId bound = device.bind(port);
        try {
            bound.receiver(this::onEvent);
            bound.listen(BACKLOG);
            return bound;
        } catch (VerbsException e) {
            bound.destroy();
            throw e;
        }
    }

    /** On the event thread. */
    private void onEvent(CmEvent event) {
        switch (event.type()) {
            case CONNECT_REQUEST -> onRequest(event);
            case ADDR_CHANGE -> vector.send(this::listenAgain);
            case DEVICE_REMOVAL -> device.onRemoved();
            default -> {
                // Nothing that a listener has to do with.
            }
        }
    }

    private void onRequest(CmEvent event) {
        CmId asking = device.idOf(event);
        try {
            IbVerbsConnectionRequest request = new IbVerbsConnectionRequest(device, asking, event.said());
            if (!vector.send(() -> handler.accept(request))) {
                asking.destroy();
            }
        } catch (VerbsException e) {
            asking.destroy();
        }
    }

    /** On the lane of vector 0. */
    private synchronized void listenAgain() {
        if (closed || device.isRemoved()) {
            return;
        }
        String where = AddressText.of(local.getAddress()) + " port " + local.getPort();
        boolean first = id != null;
        if (id != null) {
            id.destroy();
            id = null;
        }
        try {
            id = bind(local.getPort());
            LOG.log(
                    System.Logger.Level.INFO,
                    "the interface of RDMA device " + device.name() + " has another hardware address: listening on "
                            + where + " again");
        } catch (VerbsException e) {
            if (first) {
                LOG.log(
                        System.Logger.Level.WARNING,
                        "cannot listen on " + where + " again after the hardware address of RDMA device "
                                + device.name() + " changed, and goes on trying: " + e.getMessage());
            }
            retry.arm(RETRY_NANOS);
        }
    }

    @Override
    public InetSocketAddress localAddress() {
        return local;
    }

    @Override
    public synchronized void close() {
        closed = true;
        if (id != null) {
            id.destroy();
            id = null;
        }
    }
}

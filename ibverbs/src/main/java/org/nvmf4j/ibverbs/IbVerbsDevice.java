package org.nvmf4j.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.nvmf4j.ibverbs.RdmaCore.Function;
import org.nvmf4j.linux.SystemErrors;
import org.nvmf4j.verbs.AddressText;
import org.nvmf4j.verbs.CompletionQueue;
import org.nvmf4j.verbs.CompletionVector;
import org.nvmf4j.verbs.Connection;
import org.nvmf4j.verbs.ConnectionHandler;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.DeviceAttributes;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.Listener;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.QueuePairOptions;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.DeviceChecks;
import org.nvmf4j.verbs.spi.ProviderConnectionRequest;
import org.nvmf4j.verbs.spi.ProviderDevice;
import org.nvmf4j.verbs.spi.ProviderQueuePair;
import org.nvmf4j.verbs.spi.QueuePairChecks;

/**
 * The device that owns a local address, as far as rdma_cm knows it: everything is made on rdma_cm's own {@code ibv_context}, which differs
 * from one that {@code ibv_open_device} would give.
 */
final class IbVerbsDevice implements ProviderDevice {
    private static final System.Logger LOG = System.getLogger(IbVerbsDevice.class.getName());
    private static final int MAX_VECTORS = 256;
    /** A work request's list is copied element by element: longer ones are no use. */
    private static final int MAX_SGE = 256;

    private static final int MAX_READ_REQUESTS = 255;
    private static final int PORT_ACTIVE = 4;
    private static final int BACKLOG = 1024;

    private final RdmaCore core;
    private final EventThread events;
    private final CmId binding;
    private final long context;
    private final int port;
    private final String name;
    private final DeviceAttributes attributes;
    private final IbVerbsVector[] vectors;
    private final Set<IbVerbsDomain> domains = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean closed = new AtomicBoolean();

    IbVerbsDevice(RdmaCore core, InetAddress local, DeviceOptions options) throws VerbsException {
        this.core = core;
        events = new EventThread(core);
        int made = 0;
        IbVerbsVector[] all = new IbVerbsVector[Math.min(options.vectors(), MAX_VECTORS)];
        try {
            binding = bind(core, events, local, 0);
            context = binding.context();
            AbiCheck.context(context);
            port = binding.port();
            name = nameOf(core, context);
            attributes = query(local, all.length, options);
            for (; made < all.length; made++) {
                all[made] = new IbVerbsVector(this, core, made);
            }
            AsyncEvents.add(core, this);
        } catch (VerbsException | RuntimeException e) {
            for (int i = 0; i < made; i++) {
                all[i].shutDown();
            }
            events.close();
            throw e;
        }
        vectors = all;
    }

    /** An id at a local address of a device. */
    private static CmId bind(RdmaCore core, EventThread events, InetAddress local, int port) throws VerbsException {
        CmId id = CmId.create(core, events, null);
        try {
            id.bind(new InetSocketAddress(local, port));
            if (id.context() == 0) {
                throw noDevice(local);
            }
            return id;
        } catch (VerbsException e) {
            id.destroy();
            if (e.errno() == SystemErrors.EADDRNOTAVAIL || e.errno() == 19) { // ENODEV
                throw noDevice(local);
            }
            throw e;
        }
    }

    private static VerbsException noDevice(InetAddress local) {
        return new VerbsException("no RDMA device has the address " + AddressText.of(local)
                + ": see rdma link and ip address, or use provider softroce");
    }

    /** The name of the device that owns an address. */
    static String nameAt(RdmaCore core, InetAddress local) throws VerbsException {
        try (EventThread events = new EventThread(core)) {
            return nameOf(core, bind(core, events, local, 0).context());
        }
    }

    private static String nameOf(RdmaCore core, long context) throws VerbsException {
        long device = RdmaCore.longAt(context + Abi.IbvContext.DEVICE);
        long text = core.pointer(Function.IBV_GET_DEVICE_NAME, device);
        return RdmaCore.stringAt(text, Abi.IbvDevice.NAME_BYTES);
    }

    private DeviceAttributes query(InetAddress local, int vectorCount, DeviceOptions options) throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment device = arena.allocate(Abi.IbvDeviceAttr.SIZE, 8);
            core.check(Function.IBV_QUERY_DEVICE, context, device.address(), 0, 0);
            MemorySegment link = arena.allocate(Abi.IbvPortAttr.SIZE, 8);
            core.check(Function.IBV_QUERY_PORT, context, port, link.address(), 0);
            if (link.get(ValueLayout.JAVA_INT, Abi.IbvPortAttr.STATE) != PORT_ACTIVE) {
                throw new VerbsException("port " + port + " of RDMA device " + name
                        + " is not active: bring its link up (rdma link, ip link set DEV up)");
            }
            int pathMtu = 128 << link.get(ValueLayout.JAVA_INT, Abi.IbvPortAttr.ACTIVE_MTU);
            if (options.pathMtuBytes() != 0 && options.pathMtuBytes() != pathMtu) {
                throw new VerbsException(
                        "device " + name + " has path MTU " + pathMtu
                                + ", which follows from its interface's MTU: set that one (ip link set DEV mtu), or use no path MTU");
            }
            int reads = Math.min(
                    device.get(ValueLayout.JAVA_INT, Abi.IbvDeviceAttr.MAX_QP_RD_ATOM),
                    device.get(ValueLayout.JAVA_INT, Abi.IbvDeviceAttr.MAX_QP_INIT_RD_ATOM));
            return new DeviceAttributes(
                    IbVerbsProvider.NAME,
                    name,
                    local,
                    vectorCount,
                    pathMtu,
                    device.get(ValueLayout.JAVA_INT, Abi.IbvDeviceAttr.MAX_QP_WR),
                    Math.min(MAX_SGE, device.get(ValueLayout.JAVA_INT, Abi.IbvDeviceAttr.MAX_SGE)),
                    Math.min(MAX_READ_REQUESTS, reads));
        }
    }

    /** The {@code ibv_context}. */
    long context() {
        return context;
    }

    int port() {
        return port;
    }

    String name() {
        return name;
    }

    /** Completion vectors of the hardware, among which those of this device share. */
    int hardwareVectors() {
        return RdmaCore.intAt(context + Abi.IbvContext.NUM_COMP_VECTORS);
    }

    @Override
    public DeviceAttributes attributes() {
        return attributes;
    }

    @Override
    public CompletionVector vector(int index) {
        return vectors[index];
    }

    @Override
    public ProtectionDomain allocateProtectionDomain() throws VerbsException {
        checkOpen();
        IbVerbsDomain domain = new IbVerbsDomain(this, core);
        domains.add(domain);
        return domain;
    }

    void remove(IbVerbsDomain domain) {
        domains.remove(domain);
    }

    @Override
    public CompletionQueue createCompletionQueue(int capacity, int vector) throws VerbsException {
        checkOpen();
        return vectors[vector].createQueue(capacity);
    }

    @Override
    public ProviderQueuePair createQueuePair(ProtectionDomain domain, QueuePairOptions options, int inlineBytes)
            throws VerbsException {
        checkOpen();
        QueuePairChecks.sizes(attributes, options);
        if (!(domain instanceof IbVerbsDomain own) || own.device() != this) {
            throw new IllegalArgumentException("the protection domain is of another device");
        }
        return new IbVerbsQueuePair(QueuePairChecks.vector(options, vectors), core, own, options, inlineBytes);
    }

    @Override
    public Connection connect(
            ProviderQueuePair queuePair,
            InetSocketAddress remote,
            ConnectionParameters parameters,
            ConnectionHandler handler)
            throws VerbsException {
        checkOpen();
        QueuePairChecks.connect(attributes, parameters);
        DeviceChecks.remoteAddress(remote);
        DeviceChecks.privateData(parameters.privateData(), IbVerbsConnection.REQUEST_BYTES);
        IbVerbsQueuePair own = ownQueuePair(queuePair);
        own.checkConnectable();
        return IbVerbsConnection.connect(own, CmId.create(core, events, null), remote, parameters, handler);
    }

    IbVerbsQueuePair ownQueuePair(ProviderQueuePair queuePair) {
        return DeviceChecks.own(
                queuePair, IbVerbsQueuePair.class, own -> own.vector().device() == this);
    }

    @Override
    public Listener listen(int port, Consumer<? super ProviderConnectionRequest> handler) throws VerbsException {
        checkOpen();
        DeviceChecks.listeningPort(port);
        CmId id = null;
        try {
            id = bind(core, events, attributes.localAddress(), port);
            PortListener listener = new PortListener(id, id.localAddress(), handler);
            id.receiver(listener::onRequest);
            id.listen(BACKLOG);
            return listener;
        } catch (VerbsException e) {
            if (id != null) {
                id.destroy();
            }
            if (e.errno() == SystemErrors.EADDRINUSE) {
                throw DeviceChecks.portTaken(attributes.localAddress(), port, e.errno());
            }
            throw e;
        }
    }

    void checkOpen() throws VerbsException {
        DeviceChecks.open(closed.get());
    }

    /** From the thread of device events. */
    void onQueuePairFatal(int number) {
        for (IbVerbsVector vector : vectors) {
            vector.send(() -> vector.onFatal(number));
        }
    }

    /** From the thread of device events. */
    void onQueueOverflow(long queue) {
        for (IbVerbsVector vector : vectors) {
            vector.send(() -> vector.onOverflow(queue));
        }
    }

    /** Notes a failure that nobody can do anything about. */
    void warn(Function function, int errno) {
        if (errno != 0) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "{0}: {1}: {2}",
                    name,
                    function.symbol(),
                    SystemErrors.describe(errno));
        }
    }

    /** Closes what is still open, without events here; peers hear of it. Lanes should have ended: a running one is waited for. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            AsyncEvents.remove(this);
            for (IbVerbsVector vector : vectors) {
                vector.shutDown();
            }
            List.copyOf(domains).forEach(IbVerbsDomain::close);
            events.close();
        }
    }

    private final class PortListener implements Listener {
        private final CmId id;
        private final InetSocketAddress local;
        private final Consumer<? super ProviderConnectionRequest> handler;

        PortListener(CmId id, InetSocketAddress local, Consumer<? super ProviderConnectionRequest> handler) {
            this.id = id;
            this.local = local;
            this.handler = handler;
        }

        /** On the event thread. */
        void onRequest(CmEvent event) {
            if (event.type() != CmEvent.Type.CONNECT_REQUEST) {
                return;
            }
            CmId asking = CmId.of(core, events, event.id());
            try {
                IbVerbsConnectionRequest request =
                        new IbVerbsConnectionRequest(IbVerbsDevice.this, asking, event.said());
                if (!vectors[0].send(() -> handler.accept(request))) {
                    asking.destroy();
                }
            } catch (VerbsException e) {
                asking.destroy();
            }
        }

        @Override
        public InetSocketAddress localAddress() {
            return local;
        }

        @Override
        public void close() {
            id.destroy();
        }
    }
}

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
import org.nvmf4j.verbs.SharedReceiveQueue;
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
    static final String REMOVED = "the device was removed";

    private static final int MAX_VECTORS = 256;
    /** A work request's list is copied element by element: longer ones are no use. */
    private static final int MAX_SGE = 256;

    private static final int MAX_READ_REQUESTS = 255;
    private static final int PORT_ACTIVE = 4;

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
    private final AtomicBoolean removed = new AtomicBoolean();

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
            vectors = all;
            AsyncEvents.add(core, this);
            binding.receiver(this::onBindingEvent);
        } catch (VerbsException | RuntimeException e) {
            for (int i = 0; i < made; i++) {
                all[i].shutDown();
            }
            events.close();
            throw e;
        }
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
            if (e.errno() == SystemErrors.EADDRNOTAVAIL || e.errno() == SystemErrors.ENODEV) {
                throw noDevice(local);
            }
            throw e;
        }
    }

    private static VerbsException noDevice(InetAddress local) {
        return new VerbsException(
                "no RDMA device has the address " + AddressText.of(local)
                        + ": see rdma link and ip address, or use provider softroce",
                SystemErrors.ENODEV);
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
    public SharedReceiveQueue createSharedReceiveQueue(ProtectionDomain domain, int capacity, int maxSge, int vector)
            throws VerbsException {
        checkOpen();
        return vectors[vector].createSharedReceives(ownDomain(domain), capacity, maxSge);
    }

    @Override
    public ProviderQueuePair createQueuePair(ProtectionDomain domain, QueuePairOptions options, int inlineBytes)
            throws VerbsException {
        checkOpen();
        QueuePairChecks.sizes(attributes, options);
        IbVerbsDomain own = ownDomain(domain);
        return new IbVerbsQueuePair(QueuePairChecks.vector(options, vectors), core, own, options, inlineBytes);
    }

    private IbVerbsDomain ownDomain(ProtectionDomain domain) {
        if (!(domain instanceof IbVerbsDomain own) || own.device() != this) {
            throw new IllegalArgumentException("the protection domain is of another device");
        }
        return own;
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
        try {
            return new IbVerbsListener(this, port, handler);
        } catch (VerbsException e) {
            throw e.errno() == SystemErrors.EADDRINUSE
                    ? DeviceChecks.portTaken(attributes.localAddress(), port, e.errno())
                    : e;
        }
    }

    /** An id at a port of this device; 0 for any. */
    CmId bind(int listeningPort) throws VerbsException {
        return bind(core, events, attributes.localAddress(), listeningPort);
    }

    /** The id that a connection request has brought. */
    CmId idOf(CmEvent request) {
        return CmId.of(core, events, request.id());
    }

    void checkOpen() throws VerbsException {
        DeviceChecks.open(closed.get());
        if (removed.get()) {
            throw new VerbsException(
                    REMOVED + ": RDMA device " + name + " has failed or is gone, open it anew when it is back");
        }
    }

    /** Whether that is what a driver says when its device is gone, which is then noted. */
    boolean isGone(int errno) {
        if (errno != SystemErrors.EIO) {
            return false;
        }
        onRemoved();
        return true;
    }

    boolean isRemoved() {
        return removed.get();
    }

    /**
     * The device is gone, or will do nothing more: everything on it ends, each on its lane. From any thread, as often as somebody finds
     * out.
     */
    void onRemoved() {
        if (removed.compareAndSet(false, true)) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "RDMA device " + name
                            + " was removed or has failed: its connections end; start again when it is back");
            for (IbVerbsVector vector : vectors) {
                vector.send(vector::onRemoved);
            }
        }
    }

    private void onBindingEvent(CmEvent event) {
        if (event.type() == CmEvent.Type.DEVICE_REMOVAL) {
            onRemoved();
        }
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

    /** From the thread of device events. */
    void onSharedReceivesFatal(long queue) {
        for (IbVerbsVector vector : vectors) {
            vector.send(() -> vector.onSharedReceivesFatal(queue));
        }
    }

    /** Notes a failure that nobody can do anything about. */
    void warn(Function function, int errno) {
        if (errno != 0 && !removed.get()) {
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
}

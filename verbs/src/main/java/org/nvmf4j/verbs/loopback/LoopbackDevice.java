package org.nvmf4j.verbs.loopback;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
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
import org.nvmf4j.verbs.RejectReason;
import org.nvmf4j.verbs.SharedReceiveQueue;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.CompletionRing;
import org.nvmf4j.verbs.spi.DeviceChecks;
import org.nvmf4j.verbs.spi.MemoryTable;
import org.nvmf4j.verbs.spi.ProviderConnectionRequest;
import org.nvmf4j.verbs.spi.ProviderDevice;
import org.nvmf4j.verbs.spi.ProviderQueuePair;
import org.nvmf4j.verbs.spi.QueuePairChecks;
import org.nvmf4j.verbs.spi.SharedReceives;

/** One device: its vectors, its registrations and its listeners. */
final class LoopbackDevice implements ProviderDevice {
    private static final int MAX_VECTORS = 256;
    private static final int MAX_WORK_REQUESTS = 1 << 14;
    private static final int MAX_SGE = 32;
    private static final int MAX_READ_REQUESTS = 128;
    private static final int MAX_INLINE_BYTES = 1024;
    /** The ports that are taken when none is named. */
    private static final int FIRST_FREE_PORT = 49152;

    private static final int LAST_FREE_PORT = 0xffff;

    private final DeviceAttributes attributes;
    private final LoopbackVector[] vectors;
    private final MemoryTable memory = new MemoryTable(RandomGenerator.of("L64X128MixRandom"));
    private final ConcurrentHashMap<Integer, PortListener> listeners = new ConcurrentHashMap<>();
    private final AtomicInteger nextNumber =
            new AtomicInteger(ThreadLocalRandom.current().nextInt());
    private final AtomicBoolean closed = new AtomicBoolean();

    LoopbackDevice(InetAddress address, DeviceOptions options) {
        vectors = new LoopbackVector[Math.min(options.vectors(), MAX_VECTORS)];
        for (int i = 0; i < vectors.length; i++) {
            vectors[i] = new LoopbackVector(this, i);
        }
        int pathMtuBytes = options.pathMtuBytes() == 0 ? 4096 : options.pathMtuBytes();
        attributes = new DeviceAttributes(
                "loopback",
                "loopback",
                address,
                vectors.length,
                pathMtuBytes,
                MAX_WORK_REQUESTS,
                MAX_SGE,
                MAX_READ_REQUESTS);
    }

    @Override
    public DeviceAttributes attributes() {
        return attributes;
    }

    @Override
    public CompletionVector vector(int index) {
        return vectors[index];
    }

    MemoryTable memory() {
        return memory;
    }

    @Override
    public ProtectionDomain allocateProtectionDomain() throws VerbsException {
        DeviceChecks.open(closed.get());
        return memory.newDomain();
    }

    @Override
    public CompletionQueue createCompletionQueue(int capacity, int vector) throws VerbsException {
        DeviceChecks.open(closed.get());
        return vectors[vector].create(() -> vectors[vector].newRing(capacity));
    }

    @Override
    public SharedReceiveQueue createSharedReceiveQueue(ProtectionDomain domain, int capacity, int maxSge, int vector)
            throws VerbsException {
        DeviceChecks.open(closed.get());
        QueuePairChecks.domain(memory, domain);
        return new LoopbackSharedReceives(vectors[vector], domain, capacity, maxSge);
    }

    @Override
    public ProviderQueuePair createQueuePair(ProtectionDomain domain, QueuePairOptions options, int inlineBytes)
            throws VerbsException {
        DeviceChecks.open(closed.get());
        QueuePairChecks.create(attributes, memory, domain, options);
        LoopbackVector vector = QueuePairChecks.vector(options, vectors);
        CompletionRing sends = (CompletionRing) options.sendQueue();
        CompletionRing receives = (CompletionRing) options.receiveQueue();
        return vector.create(() -> new LoopbackQueuePair(
                vector,
                domain,
                sends,
                receives,
                options,
                SharedReceives.of(options, domain, LoopbackSharedReceives.class),
                vector.uniqueNumber(nextNumber),
                Math.min(inlineBytes, MAX_INLINE_BYTES)));
    }

    @Override
    public Connection connect(
            ProviderQueuePair queuePair,
            InetSocketAddress remote,
            ConnectionParameters parameters,
            ConnectionHandler handler)
            throws VerbsException {
        DeviceChecks.open(closed.get());
        QueuePairChecks.connect(attributes, parameters);
        DeviceChecks.remoteAddress(remote);
        return LoopbackConnection.connect(ownQueuePair(queuePair), remote, parameters, handler);
    }

    LoopbackQueuePair ownQueuePair(ProviderQueuePair queuePair) {
        return DeviceChecks.own(
                queuePair, LoopbackQueuePair.class, own -> own.vector().device() == this);
    }

    @Override
    public Listener listen(int port, Consumer<? super ProviderConnectionRequest> handler) throws VerbsException {
        DeviceChecks.open(closed.get());
        DeviceChecks.listeningPort(port);
        if (port != 0) {
            PortListener listener = new PortListener(port, handler);
            if (listeners.putIfAbsent(port, listener) != null) {
                throw DeviceChecks.portTaken(attributes.localAddress(), port, 0);
            }
            return listener;
        }
        for (int free = FIRST_FREE_PORT; free <= LAST_FREE_PORT; free++) {
            PortListener listener = new PortListener(free, handler);
            if (listeners.putIfAbsent(free, listener) == null) {
                return listener;
            }
        }
        throw new VerbsException("no port is free on " + AddressText.of(attributes.localAddress()));
    }

    /** Passes a connection request on to its listener; from any thread. False if this device is closed. */
    boolean offer(LoopbackConnectionRequest request) {
        return vectors[0].send(() -> {
            PortListener listener = listeners.get(request.localAddress().getPort());
            if (listener == null) {
                request.refuse(RejectReason.INVALID_SERVICE_ID, new byte[0]);
            } else {
                listener.handler.accept(request);
            }
        });
    }

    /** Closes what is still open, without events here; peers hear of it. Lanes should have ended: a running one is waited for. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            LoopbackNetwork.remove(this);
            listeners.clear();
            for (LoopbackVector vector : vectors) {
                vector.shutDown();
            }
        }
    }

    private final class PortListener implements Listener {
        private final int port;
        private final Consumer<? super ProviderConnectionRequest> handler;

        PortListener(int port, Consumer<? super ProviderConnectionRequest> handler) {
            this.port = port;
            this.handler = handler;
        }

        @Override
        public InetSocketAddress localAddress() {
            return new InetSocketAddress(attributes.localAddress(), port);
        }

        @Override
        public void close() {
            listeners.remove(port, this);
        }
    }
}

package org.nvmf4j.softroce;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.random.RandomGeneratorFactory;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.linux.MappedFile;
import org.nvmf4j.linux.UdpSocket;
import org.nvmf4j.roce.cm.CmOptions;
import org.nvmf4j.roce.cm.ConnectionManager;
import org.nvmf4j.roce.rc.RcTuning;
import org.nvmf4j.roce.wire.GsiPacket;
import org.nvmf4j.verbs.AddressText;
import org.nvmf4j.verbs.CompletionQueue;
import org.nvmf4j.verbs.CompletionVector;
import org.nvmf4j.verbs.Connection;
import org.nvmf4j.verbs.ConnectionHandler;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.DeviceAttributes;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.FaultOptions;
import org.nvmf4j.verbs.Listener;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.QueuePairOptions;
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

/** A RoCEv2 endpoint on UDP port 4791 of one local address: its vectors, registrations and listeners. */
final class SoftRoceDevice implements ProviderDevice {
    private static final int MAX_WORK_REQUESTS = 1 << 14;
    private static final int MAX_SGE = 32;
    private static final int MAX_READ_REQUESTS = 128;
    /** More would be copied twice, at post and into the packet, for nothing. */
    private static final int MAX_INLINE_BYTES = 512;

    /** What the kernel charges a receive buffer for a packet of 4 KiB. */
    private static final int PACKET_CHARGE_BYTES = 8500;

    private static final int MIN_WINDOW_PACKETS = 16;
    /** The ports that are taken when none is named. */
    private static final int FIRST_FREE_PORT = 49152;

    private static final int LAST_FREE_PORT = 0xFFFF;

    private static final int PSN_BITS = 24;

    private final DeviceAttributes attributes;
    private final SecureRandom random;
    private final MemoryTable memory;
    private final RcTuning tuning;
    private final @Nullable FaultOptions faults;
    private final @Nullable PacketTap tap;
    private final int vectorNumberBits;
    private final SoftRoceVector[] vectors;
    private final ConnectionService connectionService;
    private final AtomicBoolean closed = new AtomicBoolean();

    /**
     * A device on sockets that are its own from now on.
     *
     * @param connectionOptions changes what connection management has by default
     * @param sockets one for each vector, in order
     * @param linkPathMtuBytes what the link carries
     */
    SoftRoceDevice(
            DeviceOptions options,
            UnaryOperator<CmOptions> connectionOptions,
            List<UdpSocket> sockets,
            int linkPathMtuBytes,
            @Nullable PacketTap tap,
            SecureRandom random)
            throws IOException {
        InetAddress local = sockets.getFirst().localAddress().getAddress();
        int pathMtuBytes =
                options.pathMtuBytes() == 0 ? linkPathMtuBytes : Math.min(options.pathMtuBytes(), linkPathMtuBytes);
        this.random = random;
        this.tuning = tuning(sockets.getFirst().receiveBufferBytes());
        this.faults = options.faults();
        this.tap = tap;
        // Keys are drawn on the I/O path, where a secure generator would be slow.
        this.memory = new MemoryTable(
                RandomGeneratorFactory.of("L64X128MixRandom").create(random.generateSeed(16)),
                sockets.getFirst().isNative() ? SoftRoceDevice::mapDmaBuf : SoftRoceDevice::refuseDmaBuf);
        this.vectorNumberBits = Integer.numberOfTrailingZeros(DeviceSockets.ceilingPowerOfTwo(sockets.size()));
        this.attributes = new DeviceAttributes(
                SoftRoceProvider.NAME,
                SoftRoceProvider.deviceName(local),
                local,
                sockets.size(),
                pathMtuBytes,
                MAX_WORK_REQUESTS,
                MAX_SGE,
                MAX_READ_REQUESTS);
        this.vectors = new SoftRoceVector[sockets.size()];
        for (int i = 0; i < vectors.length; i++) {
            vectors[i] = new SoftRoceVector(this, i, sockets.get(i), random);
        }
        CmOptions cmOptions = connectionOptions.apply(CmOptions.of(local, random.nextLong(), pathMtuBytes));
        ConnectionManager manager = new ConnectionManager(cmOptions, random);
        this.connectionService = new ConnectionService(vectors[0], local, manager, tap);
        vectors[0].connectionService(connectionService);
    }

    /**
     * Keeps what may be on its way to a peer within what its socket can hold, which is not known but is likely to be what this one
     * can.
     */
    private static RcTuning tuning(int receiveBufferBytes) {
        RcTuning usual = RcTuning.DEFAULT;
        int packets = Math.max(MIN_WINDOW_PACKETS, receiveBufferBytes / PACKET_CHARGE_BYTES);
        if (packets >= usual.windowPackets()) {
            return usual;
        }
        return new RcTuning(
                packets,
                Math.min(usual.ackRequestInterval(), packets / 4),
                usual.ackEveryPackets(),
                usual.ackDelayNanos(),
                usual.firstTimeoutNanos(),
                usual.timeoutMarginNanos());
    }

    private static MemorySegment mapDmaBuf(Arena arena, int fd, long offsetBytes, long lengthBytes)
            throws VerbsException {
        try {
            return MappedFile.map(arena, fd, offsetBytes, lengthBytes);
        } catch (IOException e) {
            throw new VerbsException("cannot register a dma-buf: " + e.getMessage(), e);
        }
    }

    private static MemorySegment refuseDmaBuf(Arena arena, int fd, long offsetBytes, long lengthBytes)
            throws VerbsException {
        throw new VerbsException(
                "cannot register a dma-buf: that needs native system calls, and this device has portable sockets");
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

    RcTuning tuning() {
        return tuning;
    }

    @Nullable
    FaultOptions faults() {
        return faults;
    }

    @Nullable
    PacketTap tap() {
        return tap;
    }

    ConnectionService connectionService() {
        return connectionService;
    }

    /** How many low bits of a queue pair number name its vector. */
    int vectorNumberBits() {
        return vectorNumberBits;
    }

    /** The vector whose queue pairs have such numbers, or null if none has. */
    @Nullable
    SoftRoceVector vectorOf(int queuePairNumber) {
        int index = queuePairNumber == GsiPacket.QPN ? 0 : queuePairNumber & (1 << vectorNumberBits) - 1;
        return index < vectors.length ? vectors[index] : null;
    }

    int newStartingPsn() {
        return random.nextInt(1 << PSN_BITS);
    }

    @Override
    public Map<String, Long> counters() {
        Map<String, Long> sums = new LinkedHashMap<>();
        for (SoftRoceVector vector : vectors) {
            vector.addCountersTo(sums);
        }
        return sums;
    }

    @Override
    public ProtectionDomain allocateProtectionDomain() throws VerbsException {
        DeviceChecks.open(closed.get());
        return memory.newDomain();
    }

    @Override
    public CompletionQueue createCompletionQueue(int capacity, int vector) throws VerbsException {
        DeviceChecks.open(closed.get());
        return vectors[vector].createRing(capacity);
    }

    @Override
    public SharedReceiveQueue createSharedReceiveQueue(ProtectionDomain domain, int capacity, int maxSge, int vector)
            throws VerbsException {
        DeviceChecks.open(closed.get());
        QueuePairChecks.domain(memory, domain);
        return new SoftRoceSharedReceives(vectors[vector], domain, capacity, maxSge);
    }

    @Override
    public ProviderQueuePair createQueuePair(ProtectionDomain domain, QueuePairOptions options, int inlineBytes)
            throws VerbsException {
        DeviceChecks.open(closed.get());
        QueuePairChecks.create(attributes, memory, domain, options);
        SoftRoceVector vector = QueuePairChecks.vector(options, vectors);
        CompletionRing sends = (CompletionRing) options.sendQueue();
        CompletionRing receives = (CompletionRing) options.receiveQueue();
        SoftRoceSharedReceives shared = SharedReceives.of(options, domain, SoftRoceSharedReceives.class);
        int number = vector.newQueuePairNumber();
        return new SoftRoceQueuePair(
                vector, number, domain, sends, receives, options, shared, Math.min(inlineBytes, MAX_INLINE_BYTES));
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
        InetAddress to = DeviceChecks.remoteAddress(remote);
        InetAddress local = attributes.localAddress();
        if (to.getAddress().length != local.getAddress().length) {
            throw new VerbsException("cannot connect to " + AddressText.of(to) + " from " + AddressText.of(local)
                    + ": they are not of one IP version");
        }
        DeviceChecks.privateData(parameters.privateData(), SoftRoceConnection.REQUEST_BYTES);
        return SoftRoceConnection.connect(ownQueuePair(queuePair), remote, parameters, handler);
    }

    SoftRoceQueuePair ownQueuePair(ProviderQueuePair queuePair) {
        return DeviceChecks.own(
                queuePair, SoftRoceQueuePair.class, own -> own.vector().device() == this);
    }

    @Override
    public Listener listen(int port, Consumer<? super ProviderConnectionRequest> handler) throws VerbsException {
        DeviceChecks.open(closed.get());
        DeviceChecks.listeningPort(port);
        ConcurrentHashMap<Integer, Consumer<? super ProviderConnectionRequest>> listeners =
                connectionService.listeners();
        if (port != 0) {
            if (listeners.putIfAbsent(port, handler) != null) {
                throw DeviceChecks.portTaken(attributes.localAddress(), port, 0);
            }
            return new PortListener(port);
        }
        for (int free = FIRST_FREE_PORT; free <= LAST_FREE_PORT; free++) {
            if (listeners.putIfAbsent(free, handler) == null) {
                return new PortListener(free);
            }
        }
        throw new VerbsException("no port is free on " + AddressText.of(attributes.localAddress()));
    }

    /** Closes what is still open, without events here; peers hear of it. Lanes should have ended: a running one is waited for. */
    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        connectionService.listeners().clear();
        for (SoftRoceVector vector : vectors) {
            vector.stop();
        }
        for (SoftRoceVector vector : vectors) {
            vector.endAll();
        }
        vectors[0].sendLastWords();
        for (SoftRoceVector vector : vectors) {
            vector.release();
        }
        if (tap != null) {
            tap.close();
        }
    }

    private final class PortListener implements Listener {
        private final int port;
        private final AtomicBoolean open = new AtomicBoolean(true);

        PortListener(int port) {
            this.port = port;
            vectors[0].execute(() -> connectionService.listen(port));
        }

        @Override
        public InetSocketAddress localAddress() {
            return new InetSocketAddress(attributes.localAddress(), port);
        }

        /** First connection management forgets the port, then it is free for another listener. */
        @Override
        public void close() {
            if (open.compareAndSet(true, false)) {
                vectors[0].execute(() -> connectionService.stopListening(port));
                connectionService.listeners().remove(port);
            }
        }
    }
}

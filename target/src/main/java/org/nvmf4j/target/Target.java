package org.nvmf4j.target;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.target.spi.PeerClient;
import org.nvmf4j.target.spi.PeerMemory;
import org.nvmf4j.target.spi.PeerMemoryProvider;
import org.nvmf4j.target.spi.Reach;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.Lane;
import org.nvmf4j.verbs.VerbsException;

/**
 * An NVMe over Fabrics target: subsystems that hosts find and use through RDMA devices. It has a discovery subsystem of its own.
 *
 * <pre>{@code
 * Subsystem subsystem = new Subsystem("nqn.2025-01.com.example:disk1");
 * subsystem.addNamespace(Namespace.of(1, new MemoryBackend(1 << 30)));
 * try (Device device = Device.open(Device.ANY_PROVIDER, DeviceOptions.at(address));
 *         Target target = Target.builder().listen(device, 4420).subsystem(subsystem).start()) {
 *     ...
 * }
 * }</pre>
 *
 * <p>Methods may be called from any thread except the lanes'. The devices stay open when the target closes; the backends do not.
 */
public final class Target implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(Target.class.getName());
    /** How long peer memory may be gone before it is noticed, if nobody needs it meanwhile. */
    private static final long PRESENCE_MILLIS = 500;

    private static final PeerMemoryProvider NO_PEER_MEMORY = new PeerMemoryProvider() {
        @Override
        public List<PeerMemory> memories() {
            return List.of();
        }

        @Override
        public Reach reach(PeerMemory memory, PeerClient client) {
            return Reach.not("there is none");
        }
    };

    private final Directory directory = new Directory();
    private final TargetStatistics.Counters statistics = new TargetStatistics.Counters();
    private final AtomicLong queueMemoryBytes = new AtomicLong();
    private final TargetOptions options;
    private final List<TargetPort> ports = new ArrayList<>();
    private final List<Lane> ownLanes = new ArrayList<>();
    private final int laneCount;
    private final boolean hasPeerMemory;
    private final PeerMemories peerMemories;
    private final Executor aside;
    private final @Nullable ScheduledExecutorService ownAside;
    private final AtomicBoolean closing = new AtomicBoolean();
    private final CompletableFuture<Void> closed = new CompletableFuture<>();
    private final Subsystem.Owner owner = new Subsystem.Owner() {
        @Override
        public void visibilityChanged() {
            directory.changed();
        }

        @Override
        public void check(Namespace namespace) {
            if (!hasPeerMemory && namespace.peerMemory().kind() == PeerMemoryChoice.Kind.AUTO) {
                LOG.log(
                        System.Logger.Level.WARNING,
                        namespace + ": system memory, since the target has no source of peer memory");
            }
            checkLanes(namespace);
            peerMemories.check(namespace);
        }

        @Override
        public boolean hasPeerMemory() {
            return hasPeerMemory;
        }

        @Override
        public @Nullable PeerMemoryProvider lookForPeerMemory() {
            return hasPeerMemory ? peerMemories.look() : null;
        }

        @Override
        public CompletableFuture<Void> retire(Namespace namespace) {
            return onAllLanes(lane -> lane.retire(namespace));
        }
    };

    private Target(Builder builder) {
        options = builder.options;
        PeerMemoryProvider provider = builder.peerMemory;
        Executor given = builder.aside;
        hasPeerMemory = provider != null;
        List<Device> devices = builder.listening.stream()
                .map(Builder.Listening::device)
                .distinct()
                .toList();
        laneCount = devices.stream().mapToInt(builder::lanesOf).sum();
        peerMemories =
                new PeerMemories(provider == null ? NO_PEER_MEMORY : provider, options, devices, this::dropVanished);
        if (provider == null || given != null) {
            ownAside = null;
            aside = given == null ? Runnable::run : given;
        } else {
            ownAside = Executors.newSingleThreadScheduledExecutor(
                    Thread.ofPlatform().daemon().name("nvmf-target-aside").factory());
            ScheduledFuture<?> _ = ownAside.scheduleWithFixedDelay(
                    () -> run(peerMemories::checkPresence), PRESENCE_MILLIS, PRESENCE_MILLIS, TimeUnit.MILLISECONDS);
            aside = ownAside;
        }
    }

    private void checkLanes(Namespace namespace) {
        int limit = namespace.backend().laneLimit();
        if (namespace.hasBackendLanes() && limit < laneCount) {
            throw new IllegalArgumentException("namespace " + namespace.nsid() + ": "
                    + namespace.backend().description() + " serves " + limit + " lanes at most, and the target has "
                    + laneCount + "; use fewer lanes or addresses");
        }
    }

    /** Runs what takes too long for a lane, or what comes too late: that finds everything closed. */
    private void aside(Runnable task) {
        try {
            aside.execute(() -> run(task));
        } catch (RejectedExecutionException e) {
            run(task);
        }
    }

    private static void run(Runnable task) {
        try {
            task.run();
        } catch (RuntimeException e) {
            LOG.log(System.Logger.Level.ERROR, "unexpected failure beside the lanes", e);
        }
    }

    private void dropVanished() {
        aside(() -> directory
                .subsystems()
                .forEach(subsystem -> subsystem.eachController(
                        controller -> controller.peerMemory().dropVanished())));
    }

    PeerMemories peerMemories() {
        return peerMemories;
    }

    /** Starts the description of a target. */
    public static Builder builder() {
        return new Builder();
    }

    /** Describes a target step by step. */
    public static final class Builder {
        private record Listening(Device device, List<Lane> lanes, int port) {}

        private TargetOptions options = TargetOptions.defaults();
        private final List<Listening> listening = new ArrayList<>();
        private @Nullable PeerMemoryProvider peerMemory;
        private @Nullable Executor aside;
        private final List<Subsystem> subsystems = new ArrayList<>();

        private Builder() {}

        /** The lanes that the device will have, from the first call that names it. */
        private int lanesOf(Device device) {
            List<Lane> given = listening.stream()
                    .filter(one -> one.device == device)
                    .map(Listening::lanes)
                    .findFirst()
                    .orElse(List.of());
            return given.isEmpty() ? device.attributes().vectors() : given.size();
        }

        public Builder options(TargetOptions options) {
            this.options = options;
            return this;
        }

        /**
         * Listens on a port of a device, with one lane for each of its completion vectors that the target starts and ends by itself. May
         * be called again for further ports.
         *
         * @param port 4420 is usual; 0 for a free one
         */
        public Builder listen(Device device, int port) {
            return listen(device, List.of(), port);
        }

        /**
         * Listens on a port of a device with lanes that the caller runs, which must go on until the target is closed. One of them must
         * be that of vector 0, where connection requests arrive. A device has its lanes from the first call that names it.
         */
        public Builder listen(Device device, List<Lane> lanes, int port) {
            listening.add(new Listening(device, List.copyOf(lanes), port));
            return this;
        }

        /**
         * Where peer memory comes from for namespaces that ask for it (see {@link Namespace.Builder#peerMemory}); without one they use
         * system memory, and cannot name a device.
         */
        public Builder peerMemory(PeerMemoryProvider provider) {
            peerMemory = provider;
            return this;
        }

        /** Runs what takes too long for a lane in the test's own way; nobody then looks whether peer memory is still there. */
        Builder aside(Executor executor) {
            aside = executor;
            return this;
        }

        public Builder subsystem(Subsystem subsystem) {
            subsystems.add(subsystem);
            return this;
        }

        /**
         * Starts the target; hosts can connect when this returns.
         *
         * @throws VerbsException if it cannot listen; nothing is left open then but the devices and the backends
         * @throws IllegalArgumentException if two subsystems have one name, nothing is listened on, or a namespace cannot have the peer
         *     memory that it names, or serve that many lanes
         */
        public Target start() throws VerbsException {
            if (listening.isEmpty()) {
                throw new IllegalArgumentException("a target must listen on at least one port of a device");
            }
            Target target = new Target(this);
            try {
                for (Subsystem subsystem : subsystems) {
                    target.addSubsystem(subsystem);
                }
                for (Listening entry : listening) {
                    target.listen(entry.device, entry.lanes, entry.port);
                }
                return target;
            } catch (VerbsException | RuntimeException e) {
                subsystems.forEach(target::release);
                target.close();
                throw e;
            }
        }
    }

    /**
     * Adds a subsystem; connected discovery controllers tell their hosts.
     *
     * @throws IllegalArgumentException if its name is taken, or a namespace cannot have the peer memory that it names, or serve as many
     *     lanes as there are
     */
    public void addSubsystem(Subsystem subsystem) {
        directory.add(subsystem);
        try {
            subsystem.attach(owner);
        } catch (RuntimeException e) {
            directory.remove(subsystem);
            throw e;
        }
    }

    /**
     * Removes a subsystem: its controllers end, then its backends are closed.
     *
     * @return completes when they are
     */
    public CompletableFuture<Void> removeSubsystem(Subsystem subsystem) {
        directory.remove(subsystem);
        subsystem.eachController(controller -> controller.close("subsystem removed"));
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (Namespace namespace : subsystem.namespaces()) {
            all.add(subsystem.removeNamespace(namespace.nsid()));
        }
        return CompletableFuture.allOf(all.toArray(CompletableFuture<?>[]::new)).thenRun(subsystem::detach);
    }

    /** Forgets a subsystem of a target that did not come to be. */
    private void release(Subsystem subsystem) {
        if (directory.subsystems().contains(subsystem)) {
            directory.remove(subsystem);
            subsystem.detach();
        }
    }

    private void listen(Device device, List<Lane> lanes, int port) throws VerbsException {
        TargetPort there = null;
        for (TargetPort candidate : ports) {
            if (candidate.device() == device) {
                there = candidate;
            }
        }
        if (there == null) {
            List<Lane> used = lanes.isEmpty() ? startLanes(device) : lanes;
            there = new TargetPort(
                    device, used, directory, options, statistics, queueMemoryBytes, peerMemories, this::aside);
            ports.add(there);
        }
        directory.addPort(there.listen(port));
    }

    private List<Lane> startLanes(Device device) {
        List<Lane> lanes = new ArrayList<>();
        for (int i = 0; i < device.attributes().vectors(); i++) {
            Lane lane = new Lane(device.vector(i), options.idle());
            lane.start("nvmf-target-" + (ownLanes.size() + 1));
            ownLanes.add(lane);
            lanes.add(lane);
        }
        return lanes;
    }

    /** Where it listens. */
    public List<InetSocketAddress> ports() {
        return directory.ports();
    }

    public List<Subsystem> subsystems() {
        return List.copyOf(directory.subsystems());
    }

    public TargetStatistics statistics() {
        long commands = 0;
        long errors = 0;
        long waits = 0;
        long buffers = 0;
        for (TargetLane lane : lanes()) {
            commands += lane.counters().get(TargetLane.COMMANDS);
            errors += lane.counters().get(TargetLane.COMMAND_ERRORS);
            waits += lane.counters().get(TargetLane.BUFFER_WAITS);
            buffers += lane.counters().get(TargetLane.BUFFERS_IN_USE);
        }
        return new TargetStatistics(
                statistics.accepted.sum(),
                statistics.rejected.sum(),
                statistics.failed.sum(),
                statistics.queues.sum(),
                directory.controllerCount(),
                statistics.controllersCreated.sum(),
                statistics.keepAliveExpiries.sum(),
                commands,
                errors,
                waits,
                buffers,
                queueMemoryBytes.get());
    }

    public PeerMemoryStatistics peerMemoryStatistics() {
        return PeerMemoryCounters.sum(
                lanes().stream().map(TargetLane::peerMemoryCounters).toList(), peerMemories.heldBytes());
    }

    private CompletableFuture<Void> onAllLanes(Function<TargetLane, CompletableFuture<Void>> action) {
        return CompletableFuture.allOf(lanes().stream().map(action).toArray(CompletableFuture<?>[]::new));
    }

    List<TargetLane> lanes() {
        return ports.stream().flatMap(port -> port.lanes().stream()).toList();
    }

    /**
     * Begins to close: listens no more, disconnects every queue, lets requests that backends have end, then closes the backends.
     *
     * @return completes when all of that is done, exceptionally if something was not given back
     */
    public CompletableFuture<Void> closeAsync() {
        if (!closing.compareAndSet(false, true)) {
            return closed;
        }
        ports.forEach(TargetPort::stopListening);
        CompletableFuture<Void> lanesEnded = onAllLanes(TargetLane::shutDown);
        Thread.ofPlatform().name("nvmf-target-close").start(() -> finishClose(lanesEnded));
        return closed;
    }

    /** Not on a lane: lanes end here, and files may take their time. */
    private void finishClose(CompletableFuture<Void> lanesEnded) {
        @Nullable Throwable first = null;
        try {
            lanesEnded.join();
        } catch (CompletionException e) {
            first = e.getCause();
        }
        ownLanes.forEach(Lane::close);
        if (ownAside != null) {
            ownAside.close();
        }
        try {
            peerMemories.close();
        } catch (RuntimeException e) {
            first = first == null ? e : first;
        }
        for (TargetPort port : ports) {
            try {
                port.close();
            } catch (RuntimeException e) {
                first = first == null ? e : first;
            }
        }
        for (Subsystem subsystem : directory.subsystems()) {
            subsystem.detach();
            for (Namespace namespace : subsystem.namespaces()) {
                try {
                    Subsystem.close(namespace);
                } catch (RuntimeException e) {
                    first = first == null ? e : first;
                }
            }
        }
        if (first == null) {
            closed.complete(null);
        } else {
            LOG.log(System.Logger.Level.ERROR, "the target did not close cleanly", first);
            closed.completeExceptionally(first);
        }
    }

    /** Closes as {@link #closeAsync} does, and waits. The lanes that the caller runs must go on meanwhile in other threads. */
    @Override
    public void close() {
        try {
            closeAsync().join();
        } catch (CompletionException e) {
            throw new IllegalStateException("the target did not close cleanly: " + e.getCause(), e);
        }
    }
}

package org.nvmf4j.systemtest;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.host.Host;
import org.nvmf4j.host.HostOptions;
import org.nvmf4j.linux.NetworkRoutes;
import org.nvmf4j.target.Namespace;
import org.nvmf4j.target.Subsystem;
import org.nvmf4j.target.Target;
import org.nvmf4j.target.TargetOptions;
import org.nvmf4j.target.TargetStatistics;
import org.nvmf4j.target.backend.MemoryBackend;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.target.spi.PeerMemoryProvider;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.FaultOptions;
import org.nvmf4j.verbs.Lane;
import org.nvmf4j.verbs.VerbsException;

/** A target in this process, on a loopback address that was free, with one subsystem of one namespace. */
final class TargetNode implements AutoCloseable {
    static final String NQN = "nqn.2026-11.org.nvmf4j.test:system";
    static final int NSID = 1;

    private static final int ADDRESS_TRIES = 20;

    private final Setup setup;
    private final Device device;
    private final List<Lane> lanes = new ArrayList<>();
    private final Subsystem subsystem;
    private final Target target;

    /**
     * What the target is like.
     *
     * @param vectors completion vectors of its device, and so lanes
     * @param pathMtuBytes 0 for what the link carries
     */
    record Setup(
            String provider,
            TargetOptions options,
            int vectors,
            int pathMtuBytes,
            @Nullable FaultOptions faults,
            Backend backend,
            @Nullable PeerMemoryProvider peerMemory) {
        static Setup of(String provider, long namespaceBytes) {
            return new Setup(provider, TargetOptions.defaults(), 1, 0, null, new MemoryBackend(namespaceBytes), null);
        }

        Setup with(TargetOptions newOptions) {
            return new Setup(provider, newOptions, vectors, pathMtuBytes, faults, backend, peerMemory);
        }

        Setup withVectors(int newVectors) {
            return new Setup(provider, options, newVectors, pathMtuBytes, faults, backend, peerMemory);
        }

        Setup withPathMtuBytes(int newPathMtuBytes) {
            return new Setup(provider, options, vectors, newPathMtuBytes, faults, backend, peerMemory);
        }

        Setup withFaults(FaultOptions newFaults) {
            return new Setup(provider, options, vectors, pathMtuBytes, newFaults, backend, peerMemory);
        }

        Setup with(Backend newBackend) {
            return new Setup(provider, options, vectors, pathMtuBytes, faults, newBackend, peerMemory);
        }

        Setup with(PeerMemoryProvider newPeerMemory) {
            return new Setup(provider, options, vectors, pathMtuBytes, faults, backend, newPeerMemory);
        }
    }

    private TargetNode(Setup setup, Device device) throws IOException {
        this.setup = setup;
        this.device = device;
        for (int i = 0; i < device.attributes().vectors(); i++) {
            lanes.add(new Lane(device.vector(i), setup.options.idle()));
        }
        subsystem = new Subsystem(NQN);
        subsystem.addNamespace(
                Namespace.builder(NSID, setup.backend).blockSizeBytes(512).build());
        lanes.forEach(lane -> lane.start("target-" + lane.vector().index()));
        Target.Builder builder =
                Target.builder().options(setup.options).listen(device, lanes, 0).subsystem(subsystem);
        if (setup.peerMemory != null) {
            builder.peerMemory(setup.peerMemory);
        }
        target = builder.start();
    }

    static TargetNode start(Setup setup) throws IOException {
        for (int left = ADDRESS_TRIES; ; left--) {
            try {
                return startAt(randomLoopbackAddress(), setup);
            } catch (VerbsException e) {
                if (left == 0) {
                    throw e;
                }
            }
        }
    }

    /** Starts it on a certain address. */
    static TargetNode startAt(InetAddress address, Setup setup) throws IOException {
        DeviceOptions options = DeviceOptions.at(address)
                .withVectors(setup.vectors)
                .withPathMtuBytes(setup.pathMtuBytes)
                .withFaults(setup.faults);
        return on(Device.open(setup.provider, options), setup);
    }

    /** Starts it on a device that is open, which it closes. */
    static TargetNode on(Device device, Setup setup) throws IOException {
        try {
            return new TargetNode(setup, device);
        } catch (IOException | RuntimeException e) {
            device.close();
            throw e;
        }
    }

    static InetAddress randomLoopbackAddress() {
        return NetworkRoutes.randomLoopbackAddress(ThreadLocalRandom.current());
    }

    InetSocketAddress address() {
        return target.ports().getFirst();
    }

    Subsystem subsystem() {
        return subsystem;
    }

    Target target() {
        return target;
    }

    Device device() {
        return device;
    }

    List<Lane> lanes() {
        return lanes;
    }

    TargetStatistics statistics() {
        return target.statistics();
    }

    /** A host on another address, by the same provider and with the same path MTU. */
    Host openHost(HostOptions.Builder options) throws IOException {
        return openHost(options, DeviceOptions.defaults());
    }

    Host openHost(HostOptions.Builder options, DeviceOptions device) throws IOException {
        return Host.open(
                address().getAddress(),
                options.provider(setup.provider)
                        .device(device.withPathMtuBytes(setup.pathMtuBytes))
                        .build());
    }

    /** Waits until hosts that have gone have left nothing behind. */
    void awaitNothingLeft() {
        Await.until(
                "the target has no controller, no queue, no memory of one, and lends no data buffer",
                () -> statistics().controllers() == 0
                        && statistics().queues() == 0
                        && statistics().queueMemoryBytes() == 0
                        && statistics().buffersInUse() == 0,
                this::statistics);
    }

    @Override
    public void close() {
        try {
            target.close();
        } finally {
            lanes.forEach(Lane::close);
            device.close();
        }
    }
}

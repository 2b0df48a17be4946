package org.nvmf4j.host;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.DiscoveryLogPage;
import org.nvmf4j.nvme.Nqn;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceAttributes;
import org.nvmf4j.verbs.IdleStrategy;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.VerbsException;

/**
 * An NVMe over Fabrics host on one RDMA device: discovers subsystems, connects to controllers, registers memory. Thread-safe, but see
 * {@link ThreadingMode} for the threads that may wait in it.
 *
 * <p>Completion vector 0 carries the admin queues, on a thread of its own that mostly sleeps; I/O queues are on the other vectors, one
 * lane each. Where the device has one vector only, everything is on one lane.
 */
public final class Host implements AutoCloseable {
    private final HostOptions options;
    private final Device device;
    private final ProtectionDomain domain;
    private final HostMemory memory;
    private final HostLane adminLane;
    private final List<HostLane> ioLanes;
    private final Set<Association> associations = new HashSet<>();
    private final Set<String> connected = new HashSet<>();
    private int connecting;
    private boolean closed;
    private boolean deviceClosed;

    private Host(HostOptions options, Device device, ProtectionDomain domain) {
        this.options = options;
        this.device = device;
        this.domain = domain;
        memory = new HostMemory(domain);
        int vectors = device.attributes().vectors();
        boolean laneThreads = options.threading() == ThreadingMode.LANE_THREADS;
        if (vectors == 1) {
            adminLane = new HostLane(device.vector(0), options.idleStrategy(), laneThreads);
            ioLanes = List.of(adminLane);
        } else {
            adminLane = new HostLane(device.vector(0), IdleStrategy.PARK, true);
            List<HostLane> lanes = new ArrayList<>();
            for (int vector = 1; vector < vectors && vector <= options.ioQueues(); vector++) {
                lanes.add(new HostLane(device.vector(vector), options.idleStrategy(), laneThreads));
            }
            ioLanes = List.copyOf(lanes);
        }
        adminLane.start();
    }

    /**
     * Opens a device towards a target.
     *
     * @param target what the device must reach; other targets may be reached by it too
     * @throws HostException if the host's identity is paired differently already
     * @throws VerbsException if there is no device
     */
    public static Host open(InetAddress target, HostOptions options) throws IOException {
        return open(Device.open(options.provider(), options.deviceTowards(target)), options);
    }

    /**
     * Takes over a device that is open: closing the host closes it. What the options say of the device does not count.
     *
     * @throws HostException if the host's identity is paired differently already; the device is closed then
     */
    public static Host open(Device device, HostOptions options) throws IOException {
        try {
            HostIdentities.claim(options.identity());
            return new Host(options, device, device.allocateProtectionDomain());
        } catch (IOException | RuntimeException e) {
            device.close();
            throw e;
        }
    }

    public HostOptions options() {
        return options;
    }

    public DeviceAttributes device() {
        return device.attributes();
    }

    /** What the device has counted so far, by name; see {@link Device#counters}. */
    public Map<String, Long> deviceCounters() {
        return device.counters();
    }

    /**
     * Reads the discovery log page of a discovery subsystem.
     *
     * @throws org.nvmf4j.nvme.NvmeStatusException if the target refuses
     * @throws HostException if it cannot be reached
     */
    public DiscoveryLogPage discover(InetSocketAddress target) throws IOException {
        return discover(target, Nqn.DISCOVERY);
    }

    /** As {@link #discover(InetSocketAddress)}, of a discovery subsystem with a name of its own. */
    public DiscoveryLogPage discover(InetSocketAddress target, String discoveryNqn) throws IOException {
        Association association = begin(target, Nqn.requireValid(discoveryNqn), 0);
        try {
            association.bringUp();
            return DiscoveryClient.read(association.admin(), association.identify());
        } finally {
            association.close();
            forget(association);
            ended();
        }
    }

    /**
     * Connects to a subsystem.
     *
     * @throws org.nvmf4j.nvme.NvmeStatusException if the target refuses the Connect command
     * @throws ConnectionRefusedException if the target or its transport refuses the connection
     * @throws HostException if it cannot be reached, its controller cannot be used, or this host is connected to it already
     */
    public Controller connect(InetSocketAddress target, String subsystemNqn) throws IOException {
        Nqn.requireValid(subsystemNqn);
        String key = QueueLabel.address(target) + " " + subsystemNqn;
        synchronized (associations) {
            if (!connected.add(key) && !options.duplicateConnect()) {
                throw new HostException("this host is connected to " + subsystemNqn + " at "
                        + QueueLabel.address(target) + " already; ask for a duplicate connection to have another");
            }
        }
        Association association = null;
        try {
            association = begin(target, subsystemNqn, options.keepAliveMillis());
            association.bringUp();
            Controller controller = new Controller(this, target, association, key);
            controller.bringUp();
            return controller;
        } catch (IOException | RuntimeException e) {
            if (association != null) {
                forget(association);
            }
            forget(key);
            throw e;
        } finally {
            if (association != null) {
                ended();
            }
        }
    }

    /** Makes an association that {@link #close} knows of; {@link #ended} follows when it is up or has failed. */
    private Association begin(InetSocketAddress target, String subsystemNqn, int keepAliveMillis) throws HostException {
        if (target.isUnresolved()) {
            throw new HostException(
                    "unknown host " + target.getHostString() + "; use an address or a name that resolves");
        }
        Association association = new Association(context(target), options, subsystemNqn, keepAliveMillis);
        synchronized (associations) {
            if (closed) {
                throw new HostException("the host is closed");
            }
            connecting++;
            associations.add(association);
        }
        return association;
    }

    private void ended() {
        synchronized (associations) {
            connecting--;
            associations.notifyAll();
        }
    }

    void forget(Association association) {
        synchronized (associations) {
            associations.remove(association);
        }
    }

    void forget(String key) {
        synchronized (associations) {
            connected.remove(key);
        }
    }

    private QueueContext context(InetSocketAddress target) {
        return new QueueContext(
                adminLane,
                device,
                domain,
                target,
                TimeUnit.MILLISECONDS.toNanos(options.connectTimeoutMillis()),
                TimeUnit.MILLISECONDS.toNanos(options.commandTimeoutMillis()));
    }

    /** Entries of an I/O queue that host, device and controller all can do. */
    int queueSize(long capabilities, int maxcmd) throws HostException {
        int size = Math.min(options.queueSize(), ControllerProperties.mqesZeroBased(capabilities) + 1);
        if (maxcmd != 0) {
            size = Math.min(size, maxcmd);
        }
        int deviceMax = device.attributes().maxWorkRequests();
        while (size >= 2 && CommandQueue.capsules(size) > deviceMax) {
            size /= 2;
        }
        if (size < 2) {
            throw new HostException("no I/O queue is possible: the controller takes "
                    + (ControllerProperties.mqesZeroBased(capabilities) + 1) + " entries and " + maxcmd
                    + " commands, the device " + deviceMax + " work requests");
        }
        return size;
    }

    /**
     * Allocates page-aligned memory and registers it, for I/O without a copy.
     *
     * @throws VerbsException if the device has no more room
     */
    public RegisteredBuffer allocate(long lengthBytes) throws VerbsException {
        return memory.allocate(lengthBytes);
    }

    /**
     * Registers memory of the caller's, for I/O without a copy.
     *
     * @param segment native memory of an arena that other threads may use, which stays alive until the buffer is closed
     * @throws VerbsException if the device has no more room
     */
    public RegisteredBuffer register(MemorySegment segment) throws VerbsException {
        return memory.register(segment);
    }

    HostMemory memory() {
        return memory;
    }

    /** The lane of an I/O queue with a thread of its own. */
    HostLane ioLane(int qid) {
        HostLane lane = ioLanes.get((qid - 1) % ioLanes.size());
        lane.start();
        return lane;
    }

    /** A lane for an I/O queue of the calling thread: a free one, else one that it has already. */
    HostLane claimIoLane() {
        synchronized (ioLanes) {
            for (HostLane lane : ioLanes) {
                if (lane.users() == 0 && lane.tryClaim()) {
                    lane.addUser(1);
                    return lane;
                }
            }
            for (HostLane lane : ioLanes) {
                if (lane.tryClaim()) {
                    lane.addUser(1);
                    return lane;
                }
            }
            throw new IllegalStateException(
                    "each of the device's " + device.attributes().vectors()
                            + " completion vectors belongs to another thread; use fewer threads");
        }
    }

    void releaseIoLane(HostLane lane) {
        synchronized (ioLanes) {
            lane.addUser(-1);
            if (lane.users() == 0 && lane != adminLane) {
                lane.release();
            }
        }
    }

    /**
     * Closes every controller, then the device with everything registered.
     *
     * @throws IllegalStateException if a thread of the user's neither polls nor closes an I/O queue that it owns; when it has closed it,
     *     call this again
     */
    @Override
    public void close() {
        List<Association> open;
        synchronized (associations) {
            if (deviceClosed) {
                return;
            }
            closed = true;
            open = List.copyOf(associations);
        }
        open.forEach(Association::close);
        awaitConnecting();
        synchronized (ioLanes) {
            for (HostLane lane : ioLanes) {
                if (lane.users() > 0) {
                    throw new IllegalStateException("an I/O queue on completion vector " + lane.vector()
                            + " is still open: close it on its thread first");
                }
            }
        }
        synchronized (associations) {
            if (deviceClosed) {
                return;
            }
            deviceClosed = true;
        }
        ioLanes.forEach(HostLane::close);
        adminLane.close();
        memory.close();
        domain.close();
        device.close();
    }

    /** Waits for threads that are connecting: what they wait for has ended by now. */
    private void awaitConnecting() {
        boolean interrupted = false;
        synchronized (associations) {
            while (connecting > 0) {
                try {
                    associations.wait();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}

package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.AsyncEvent;
import org.nvmf4j.pcie.PciAddress;

/**
 * A controller that is ours, and the backends of its namespaces. It has a control thread, which looks after the controller every so often
 * until the last backend is closed. Thread-safe.
 */
final class NvmeDrive {
    static final int ZEROES_BYTES = 128 << 10;

    private static final System.Logger LOG = System.getLogger(NvmeDrive.class.getName());
    private static final long LOOK_NANOS = 20_000_000;
    private static final long JOIN_MILLIS = 100;

    private final PciAddress address;
    private final NvmeHardware hardware;
    private final NvmeController controller;
    private final DmaMemory zeroes;
    private final Consumer<NvmeDrive> whenClosed;
    /** By namespace identifier; guarded by this. */
    private final Map<Integer, NvmeBackend> exported = new HashMap<>();
    /** Held by who uses the admin queue. */
    private final ReentrantLock admin = new ReentrantLock();

    /** Guarded by the same. */
    private @Nullable CmbQueues cmbQueues;

    private volatile @Nullable Thread control;
    private volatile boolean givenBack;
    private volatile boolean closing;
    private boolean closed;

    private NvmeDrive(
            PciAddress address,
            NvmeHardware hardware,
            NvmeController controller,
            DmaMemory zeroes,
            Consumer<NvmeDrive> whenClosed) {
        this.address = address;
        this.hardware = hardware;
        this.controller = controller;
        this.zeroes = zeroes;
        this.whenClosed = whenClosed;
    }

    /**
     * Starts a controller, whose hardware is closed with the drive, or if that fails.
     *
     * @param whenClosed hears that the last backend has been closed, and that nothing of the drive is left
     * @throws IOException with one line
     */
    static NvmeDrive start(PciAddress address, NvmeHardware hardware, Consumer<NvmeDrive> whenClosed)
            throws IOException {
        NvmeController controller = null;
        try {
            controller = NvmeController.start(
                    hardware.registers(), hardware.dma(), hardware.pace(), hardware.memoryBuffer());
            DmaMemory zeroes = hardware.dma().allocate(ZEROES_BYTES);
            NvmeDrive drive = new NvmeDrive(address, hardware, controller, zeroes, whenClosed);
            controller.onEvent(drive::heard);
            controller.onNamespacesChanged(drive::checkNamespaces);
            return drive;
        } catch (IOException | RuntimeException e) {
            if (controller != null) {
                controller.close();
            }
            hardware.close();
            throw new IOException(address + ": " + e.getMessage(), e);
        }
    }

    PciAddress address() {
        return address;
    }

    NvmeHardware hardware() {
        return hardware;
    }

    NvmeController controller() {
        return controller;
    }

    /** {@value #ZEROES_BYTES} bytes of zeroes. */
    DmaMemory zeroes() {
        return zeroes;
    }

    private void heard(int event) {
        LOG.log(System.Logger.Level.WARNING, "drive " + address + " reports: " + AsyncEvent.describe(event));
    }

    /**
     * Makes a backend of a namespace.
     *
     * @param nsid 0 for the only one that there is
     * @param useCmbSqs whether its submission queues are to be in the memory buffer
     * @throws IOException with one line, if there is none, or several, or it is exported already or has a format that cannot be, or if the
     *     drive has no memory buffer for queues
     */
    NvmeBackend open(int nsid, boolean useCmbSqs) throws IOException {
        admin.lock();
        try {
            return openAlone(nsid, useCmbSqs);
        } finally {
            admin.unlock();
        }
    }

    private synchronized NvmeBackend openAlone(int nsid, boolean useCmbSqs) throws IOException {
        if (closed) {
            throw new IOException("drive " + address + " is about to be let go; try again");
        }
        if (controller.isUnusable()) {
            throw new IOException(
                    "drive " + address + " cannot be used any more, and its last requests have yet to end; try again");
        }
        int[] there = controller.namespaceIds();
        if (nsid == 0 && there.length != 1) {
            throw new IOException("drive " + address
                    + (there.length == 0
                            ? " has no active namespace; nvme create-ns and attach-ns make one"
                            : " has several namespaces; name one, as in pcie:" + address + "/" + there[0]));
        }
        int chosen = nsid == 0 ? there[0] : nsid;
        String who = name(chosen);
        if (Arrays.stream(there).noneMatch(one -> one == chosen)) {
            throw new IOException(who + " is not there; "
                    + (there.length == 0
                            ? "it has none"
                            : "it has "
                                    + Arrays.stream(there)
                                            .mapToObj(Integer::toString)
                                            .collect(Collectors.joining(", "))));
        }
        if (exported.containsKey(chosen)) {
            throw new IOException(who + " is exported already");
        }
        NvmeNamespace namespace = identify(chosen);
        CmbQueues places = useCmbSqs ? cmbQueues() : null;
        NvmeBackend backend = new NvmeBackend(this, namespace, places);
        exported.put(chosen, backend);
        return backend;
    }

    private String name(int nsid) {
        return "namespace " + nsid + " of drive " + address;
    }

    private NvmeNamespace identify(int nsid) throws IOException {
        return NvmeNamespace.of(
                name(nsid),
                nsid,
                controller.namespace(nsid),
                controller.identify(),
                controller.limits(),
                controller.maxTransferBytes());
    }

    /** Identifies what is exported again: commands for what a namespace was may move more than they should, and elsewhere. */
    private void checkNamespaces() throws NvmeDeviceException {
        List<NvmeBackend> backends;
        synchronized (this) {
            backends = List.copyOf(exported.values());
        }
        for (NvmeBackend backend : backends) {
            int nsid = backend.namespace().nsid();
            try {
                backend.compare(identify(nsid));
            } catch (NvmeDeviceException e) {
                throw e; // the controller is to blame, and will be reset
            } catch (IOException e) {
                backend.change(String.valueOf(e.getMessage()));
            }
        }
    }

    /** One for all namespaces that want it: queues of a controller share their identifiers. */
    private CmbQueues cmbQueues() throws IOException {
        CmbQueues places = cmbQueues;
        if (places == null) {
            places = CmbQueues.reserve("drive " + address, hardware, controller.maxQueues());
            cmbQueues = places;
        }
        return places;
    }

    private void closeCmbQueues() {
        if (cmbQueues != null) {
            cmbQueues.close();
        }
    }

    /** Whether no backend is open. */
    synchronized boolean isUnused() {
        return exported.isEmpty();
    }

    /** Begins to look after the controller; before that, the caller has it to itself. */
    synchronized void startControl() {
        if (control == null && !closed) {
            Thread thread =
                    Thread.ofPlatform().daemon().name("nvmf-nvme-" + address).unstarted(this::control);
            control = thread;
            thread.start();
        }
    }

    private void control() {
        while (!closing) {
            lookAfter();
            LockSupport.parkNanos(this, LOOK_NANOS);
        }
    }

    /** Looks after the controller once; the control thread, or a test in its place. */
    void lookAfter() {
        admin.lock();
        try {
            if (hardware.isWanted() && !controller.isUnusable()) {
                LOG.log(
                        System.Logger.Level.WARNING,
                        "drive " + address + " is unplugged or unbound: its namespaces cannot be used any more");
                controller.giveUp();
            }
            if (controller.isUnusable()) {
                giveBack();
            }
            controller.lookAfter();
        } catch (IOException e) {
            LOG.log(System.Logger.Level.ERROR, "drive " + address + " cannot be used any more: " + e.getMessage());
        } catch (RuntimeException e) {
            LOG.log(System.Logger.Level.ERROR, "unexpected failure of drive " + address, e);
            controller.giveUp();
        } finally {
            admin.unlock();
        }
    }

    /** Requests end for good; the function goes back when no lane touches it any more. */
    private void giveBack() {
        if (!givenBack && controller.isQuiet()) {
            closeCmbQueues();
            hardware.giveBack();
            givenBack = true;
        }
    }

    /** Whether the drive could not be used any more, and the function is others' to have. */
    boolean isGivenBack() {
        return givenBack;
    }

    /** A lane has opened or closed a queue: the control thread looks at once. */
    void lookSoon() {
        LockSupport.unpark(control);
    }

    /** The namespace is not used any more; after the last one the controller is shut down. */
    void release(int nsid) {
        synchronized (this) {
            exported.remove(nsid);
            if (!exported.isEmpty() || closed) {
                return;
            }
            closed = true;
        }
        try {
            close();
        } finally {
            whenClosed.accept(this);
        }
    }

    private void close() {
        closing = true;
        Thread thread = control;
        boolean interrupted = false;
        while (thread != null && thread.isAlive()) {
            LockSupport.unpark(thread);
            try {
                thread.join(JOIN_MILLIS);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        controller.close();
        closeCmbQueues();
        zeroes.close();
        hardware.close();
    }
}

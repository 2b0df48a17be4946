package org.nvmf4j.target;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.ConnectData;
import org.nvmf4j.nvme.Nqn;
import org.nvmf4j.target.spi.DriveOpener;
import org.nvmf4j.target.spi.PeerMemoryProvider;

/**
 * An NVM subsystem: a name, the namespaces behind it, and who may connect. Namespaces can be added, enabled, disabled and removed
 * while hosts are connected, which then hear of it, and hosts can be allowed. Thread-safe; belongs to one target at most.
 */
public final class Subsystem {
    private static final int MAX_SERIAL_CHARS = 20;
    private static final int MAX_MODEL_CHARS = 40;

    private final String nqn;
    private final String serial;
    private final String model;
    private final Map<Integer, Controller> controllers = new ConcurrentHashMap<>();
    /** Held while a namespace changes, also by threads that find peer memory for a new controller; never by a lane. */
    private final ReentrantLock changes = new ReentrantLock();
    /** All namespaces, and those of them that are enabled. */
    private volatile NamespaceTable namespaces = NamespaceTable.EMPTY;

    private volatile NamespaceTable enabled = NamespaceTable.EMPTY;
    private volatile Set<String> allowedHosts = Set.of();
    private volatile boolean anyHost = true;
    private volatile @Nullable Owner owner;
    private int lastCntlid;

    /** What a subsystem tells the target that it belongs to. */
    interface Owner {
        /** Hosts may see other subsystems than before. */
        void visibilityChanged();

        /**
         * Checks what a namespace asks for before it is enabled.
         *
         * @throws IllegalArgumentException if it cannot have that; one line with the reason and what would work
         */
        void check(Namespace namespace);

        /** The peer memory that there is now, or null if the target has no source of any. */
        @Nullable
        PeerMemoryProvider lookForPeerMemory();

        /** Whether the target has a source of peer memory. */
        boolean hasPeerMemory();

        /** The namespace is not in the table any more; the future completes when no lane uses it. */
        CompletableFuture<Void> retire(Namespace namespace);
    }

    /**
     * A subsystem without namespaces that any host may use.
     *
     * @param nqn its name, see {@link Nqn#isValid}
     * @param serial serial number, up to 20 printable ASCII characters
     * @param model model number, up to 40
     * @throws IllegalArgumentException if one of them is not valid; the message says why
     */
    public Subsystem(String nqn, String serial, String model) {
        this.nqn = Nqn.requireValid(nqn);
        this.serial = requireText("serial number", serial, MAX_SERIAL_CHARS);
        this.model = requireText("model number", model, MAX_MODEL_CHARS);
    }

    /** A subsystem whose serial number follows from its name. */
    public Subsystem(String nqn) {
        this(nqn, String.format("%08x", nqn.hashCode()), "nvmf4j");
    }

    private static String requireText(String what, String text, int maxChars) {
        if (text.length() > maxChars || text.chars().anyMatch(c -> c < ' ' || c > '~')) {
            throw new IllegalArgumentException(
                    what + " '" + text + "' must be at most " + maxChars + " printable ASCII characters");
        }
        assert text.getBytes(US_ASCII).length == text.length();
        return text;
    }

    public String nqn() {
        return nqn;
    }

    public String serial() {
        return serial;
    }

    public String model() {
        return model;
    }

    boolean isDiscovery() {
        return nqn.equals(Nqn.DISCOVERY);
    }

    /** The namespaces in the order of their NSIDs. */
    public List<Namespace> namespaces() {
        return namespaces.stream().toList();
    }

    /** The namespaces that hosts see. */
    NamespaceTable table() {
        return enabled;
    }

    boolean wantsPeerMemory() {
        Owner target = owner;
        return target != null && target.hasPeerMemory() && enabled.stream().anyMatch(Namespace::wantsPeerMemory);
    }

    /** Whether hosts see the namespace. */
    public boolean isEnabled(int nsid) {
        return enabled.get(nsid) != null;
    }

    /**
     * Adds a namespace and enables it; connected hosts are told.
     *
     * @throws IllegalArgumentException if the NSID is taken, or the namespace cannot have the peer memory that it names or serve the
     *     target's lanes; one line with the reason and what would work. It is not added then, and its backend is still the caller's
     */
    public void addNamespace(Namespace namespace) {
        changes.lock();
        try {
            if (namespaces.get(namespace.nsid()) != null) {
                throw new IllegalArgumentException(
                        "nsid " + namespace.nsid() + " of " + nqn + " is taken; choose another or leave nsid out");
            }
            check(namespace);
            namespaces = namespaces.with(namespace);
            enable(namespace);
        } finally {
            changes.unlock();
        }
    }

    /**
     * Lets hosts see a namespace that was disabled; they are told.
     *
     * @throws IllegalArgumentException if there is no such namespace, or it cannot have the peer memory that it names; it stays
     *     disabled then
     */
    public void enableNamespace(int nsid) {
        changes.lock();
        try {
            Namespace namespace = require(nsid);
            if (!isEnabled(nsid)) {
                check(namespace);
                enable(namespace);
            }
        } finally {
            changes.unlock();
        }
    }

    private void check(Namespace namespace) {
        Owner target = owner;
        if (target != null) {
            target.check(namespace);
        }
    }

    private void enable(Namespace namespace) {
        PeerMemoryProvider seen = namespace.wantsPeerMemory() ? look() : null;
        if (seen != null) {
            place(namespace, seen);
        }
        enabled = enabled.with(namespace);
        if (seen != null) {
            place(namespace, seen); // controllers that came meanwhile and did not see it
        }
        namespaceChanged(namespace.nsid());
    }

    private @Nullable PeerMemoryProvider look() {
        Owner target = owner;
        return target == null ? null : target.lookForPeerMemory();
    }

    private void place(Namespace namespace, PeerMemoryProvider seen) {
        controllers.values().forEach(controller -> controller.peerMemory().add(namespace, controller, seen));
    }

    /** Finds peer memory for the namespaces that a new controller sees. */
    void placeNamespaces(Controller controller) {
        changes.lock();
        try {
            PeerMemoryProvider seen = controller.isClosed() ? null : look();
            if (seen != null) {
                enabled.stream()
                        .filter(Namespace::wantsPeerMemory)
                        .forEach(namespace -> controller.peerMemory().add(namespace, controller, seen));
            }
        } finally {
            changes.unlock();
        }
    }

    /**
     * Hides a namespace from hosts; they are told, commands that are under way still end. The backend stays open.
     *
     * @return completes when no command uses it any more and its peer memory has been given back
     * @throws IllegalArgumentException if there is no such namespace
     */
    public CompletableFuture<Void> disableNamespace(int nsid) {
        changes.lock();
        try {
            return disable(require(nsid));
        } finally {
            changes.unlock();
        }
    }

    private CompletableFuture<Void> disable(Namespace namespace) {
        int nsid = namespace.nsid();
        if (!isEnabled(nsid)) {
            return CompletableFuture.completedFuture(null);
        }
        enabled = enabled.without(nsid);
        namespaceChanged(nsid);
        List<CompletableFuture<Void>> ends = new ArrayList<>();
        controllers
                .values()
                .forEach(controller -> ends.add(controller.peerMemory().remove(nsid)));
        ends.add(retire(namespace));
        return CompletableFuture.allOf(ends.toArray(CompletableFuture<?>[]::new));
    }

    private CompletableFuture<Void> retire(Namespace namespace) {
        Owner target = owner;
        return target == null ? CompletableFuture.completedFuture(null) : target.retire(namespace);
    }

    private Namespace require(int nsid) {
        Namespace namespace = namespaces.get(nsid);
        if (namespace == null) {
            throw new IllegalArgumentException("no namespace " + nsid + " in " + nqn);
        }
        return namespace;
    }

    /**
     * Chooses the peer memory that the data of a disabled namespace passes through once it is enabled.
     *
     * @throws IllegalArgumentException if there is no such namespace
     * @throws IllegalStateException if it is enabled
     */
    public void choosePeerMemory(int nsid, PeerMemoryChoice choice) {
        changes.lock();
        try {
            Namespace namespace = require(nsid);
            if (isEnabled(nsid)) {
                throw new IllegalStateException("namespace " + nsid + " of " + nqn
                        + " is enabled; its peer memory can be chosen while it is disabled");
            }
            namespaces = namespaces.with(namespace.withPeerMemory(choice));
        } finally {
            changes.unlock();
        }
    }

    /** As {@link #addNamespaces(List, DriveOpener)} where there are no drives. */
    public void addNamespaces(List<NamespaceSpec> specs) throws IOException {
        addNamespaces(specs, NamespaceSpec.NO_DRIVES);
    }

    /**
     * Opens and adds namespaces as they are specified. Those without an NSID get the lowest ones that are left.
     *
     * @param drives opens those that are named by PCI address
     * @throws IOException if one cannot be opened; those that were opened before stay
     * @throws IllegalArgumentException if an NSID is taken
     */
    public void addNamespaces(List<NamespaceSpec> specs, DriveOpener drives) throws IOException {
        List<NamespaceSpec> numberedFirst = new ArrayList<>(specs);
        numberedFirst.sort(Comparator.comparing(spec -> spec.nsid() == 0));
        for (NamespaceSpec spec : numberedFirst) {
            int free = namespaces.nextFree();
            if (free == 0) {
                throw new IllegalArgumentException(
                        nqn + " has " + Namespace.MAX_NSID + " namespaces, no more are possible; add a subsystem");
            }
            Namespace namespace = spec.open(free, drives);
            try {
                addNamespace(namespace);
            } catch (RuntimeException e) {
                namespace.backend().close();
                throw e;
            }
        }
    }

    /**
     * Removes a namespace; connected hosts are told, commands that are under way still end.
     *
     * @return completes when the backend is closed, exceptionally if that fails
     * @throws IllegalArgumentException if there is no such namespace
     */
    public CompletableFuture<Void> removeNamespace(int nsid) {
        Namespace removed;
        CompletableFuture<Void> unused;
        changes.lock();
        try {
            removed = require(nsid);
            unused = isEnabled(nsid) ? disable(removed) : retire(removed);
            namespaces = namespaces.without(nsid);
        } finally {
            changes.unlock();
        }
        return unused.thenRunAsync(() -> close(removed));
    }

    static void close(Namespace namespace) {
        try {
            namespace.backend().close();
        } catch (IOException e) {
            throw new UncheckedIOException("closing " + namespace.backend().description() + " failed", e);
        }
    }

    private void namespaceChanged(int nsid) {
        controllers.values().forEach(controller -> controller.namespaceChanged(nsid));
    }

    /** Lets only these hosts connect; none if the set is empty. Connections that there are stay. */
    public void allowHosts(Set<String> hostNqns) {
        Set<String> valid = new TreeSet<>();
        hostNqns.forEach(host -> valid.add(Nqn.requireValid(host)));
        allowedHosts = Set.copyOf(valid);
        anyHost = false;
        visibilityChanged();
    }

    /** Lets every host connect, as it is at first. */
    public void allowAnyHost() {
        anyHost = true;
        visibilityChanged();
    }

    /** Whether a host may see the subsystem and connect to it. */
    public boolean isAllowed(String hostNqn) {
        return anyHost || allowedHosts.contains(hostNqn);
    }

    private void visibilityChanged() {
        Owner target = owner;
        if (target != null) {
            target.visibilityChanged();
        }
    }

    /**
     * Makes the subsystem part of a target.
     *
     * @throws IllegalStateException if it is part of one already
     * @throws IllegalArgumentException if a namespace cannot have what it asks for there
     */
    void attach(Owner target) {
        changes.lock();
        try {
            if (owner != null) {
                throw new IllegalStateException(nqn + " belongs to a target already; make a subsystem for each target");
            }
            enabled.stream().forEach(target::check);
            owner = target;
        } finally {
            changes.unlock();
        }
    }

    void detach() {
        owner = null;
    }

    /** A number for a controller, long unused, or 0 if all are taken. */
    private int freeCntlid() {
        for (int tries = 0; tries < ConnectData.CNTLID_MAX; tries++) {
            lastCntlid = lastCntlid % ConnectData.CNTLID_MAX + 1;
            if (!controllers.containsKey(lastCntlid)) {
                return lastCntlid;
            }
        }
        return 0;
    }

    /** What makes a controller of its number. */
    interface ControllerFactory {
        Controller make(int cntlid);
    }

    /** Makes a controller and keeps it, or null if there are too many. */
    synchronized @Nullable Controller addController(ControllerFactory factory) {
        int cntlid = freeCntlid();
        if (cntlid == 0) {
            return null;
        }
        Controller controller = factory.make(cntlid);
        controllers.put(cntlid, controller);
        return controller;
    }

    @Nullable
    Controller controller(int cntlid) {
        return controllers.get(cntlid);
    }

    void removeController(Controller controller) {
        controllers.remove(controller.cntlid(), controller);
    }

    int controllerCount() {
        return controllers.size();
    }

    void eachController(Consumer<Controller> action) {
        controllers.values().forEach(action);
    }

    @Override
    public String toString() {
        return nqn;
    }
}

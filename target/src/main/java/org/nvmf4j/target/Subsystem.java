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
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.ConnectData;
import org.nvmf4j.nvme.Nqn;

/**
 * An NVM subsystem: a name, the namespaces behind it, and who may connect. Namespaces and hosts can be added and removed while hosts
 * are connected, which then hear of it. Thread-safe; belongs to one target at most.
 */
public final class Subsystem {
    private static final int MAX_SERIAL_CHARS = 20;
    private static final int MAX_MODEL_CHARS = 40;

    private final String nqn;
    private final String serial;
    private final String model;
    private final Map<Integer, Controller> controllers = new ConcurrentHashMap<>();
    private volatile NamespaceTable namespaces = NamespaceTable.EMPTY;
    private volatile Set<String> allowedHosts = Set.of();
    private volatile boolean anyHost = true;
    private volatile @Nullable Owner owner;
    private int lastCntlid;

    /** What a subsystem tells the target that it belongs to. */
    interface Owner {
        /** Hosts may see other subsystems than before. */
        void visibilityChanged();

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

    NamespaceTable table() {
        return namespaces;
    }

    /**
     * Adds a namespace; connected hosts are told.
     *
     * @throws IllegalArgumentException if the NSID is taken
     */
    public void addNamespace(Namespace namespace) {
        synchronized (this) {
            if (namespaces.get(namespace.nsid()) != null) {
                throw new IllegalArgumentException(
                        "nsid " + namespace.nsid() + " of " + nqn + " is taken; choose another or leave nsid out");
            }
            namespaces = namespaces.with(namespace);
        }
        namespaceChanged(namespace.nsid());
    }

    /**
     * Opens and adds namespaces as they are specified. Those without an NSID get the lowest ones that are left.
     *
     * @throws IOException if one cannot be opened; those that were opened before stay
     * @throws IllegalArgumentException if an NSID is taken
     */
    public void addNamespaces(List<NamespaceSpec> specs) throws IOException {
        List<NamespaceSpec> numberedFirst = new ArrayList<>(specs);
        numberedFirst.sort(Comparator.comparing(spec -> spec.nsid() == 0));
        for (NamespaceSpec spec : numberedFirst) {
            int free = namespaces.nextFree();
            if (free == 0) {
                throw new IllegalArgumentException(
                        nqn + " has " + Namespace.MAX_NSID + " namespaces, no more are possible; add a subsystem");
            }
            Namespace namespace = spec.open(free);
            try {
                addNamespace(namespace);
            } catch (IllegalArgumentException e) {
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
        Namespace namespace;
        synchronized (this) {
            namespace = namespaces.get(nsid);
            if (namespace == null) {
                throw new IllegalArgumentException("no namespace " + nsid + " in " + nqn);
            }
            namespaces = namespaces.without(nsid);
        }
        namespaceChanged(nsid);
        Owner target = owner;
        CompletableFuture<Void> unused =
                target == null ? CompletableFuture.completedFuture(null) : target.retire(namespace);
        Namespace removed = namespace;
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
     */
    synchronized void attach(Owner target) {
        if (owner != null) {
            throw new IllegalStateException(nqn + " belongs to a target already; make a subsystem for each target");
        }
        owner = target;
    }

    synchronized void detach() {
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

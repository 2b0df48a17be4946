package org.nvmf4j.target;

import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.DiscoveryLogEntry;
import org.nvmf4j.nvme.DiscoveryLogEntry.RdmaTsas;
import org.nvmf4j.nvme.DiscoveryLogPage;
import org.nvmf4j.nvme.Nqn;
import org.nvmf4j.verbs.AddressText;

/** The subsystems and ports of a target, and what its discovery subsystem says about them. Thread-safe. */
final class Directory {
    private final Subsystem discovery = new Subsystem(Nqn.DISCOVERY);
    private final Map<String, Subsystem> subsystems = new ConcurrentSkipListMap<>();
    private final List<InetSocketAddress> ports = new CopyOnWriteArrayList<>();
    private final AtomicLong generation = new AtomicLong(1);

    /** The subsystem with that name, or null. */
    @Nullable
    Subsystem find(String nqn) {
        return nqn.equals(Nqn.DISCOVERY) ? discovery : subsystems.get(nqn);
    }

    Subsystem discovery() {
        return discovery;
    }

    Collection<Subsystem> subsystems() {
        return subsystems.values();
    }

    /** Controllers of all subsystems, and of discovery. */
    int controllerCount() {
        int count = discovery.controllerCount();
        for (Subsystem subsystem : subsystems.values()) {
            count += subsystem.controllerCount();
        }
        return count;
    }

    /**
     * Adds a subsystem.
     *
     * @throws IllegalArgumentException if its name is taken
     */
    void add(Subsystem subsystem) {
        if (subsystem.isDiscovery()) {
            throw new IllegalArgumentException(
                    Nqn.DISCOVERY + " is the target's own discovery subsystem; choose another NQN");
        }
        if (subsystems.putIfAbsent(subsystem.nqn(), subsystem) != null) {
            throw new IllegalArgumentException(
                    "two subsystems are named " + subsystem.nqn() + "; give each an NQN of its own");
        }
        changed();
    }

    void remove(Subsystem subsystem) {
        if (subsystems.remove(subsystem.nqn(), subsystem)) {
            changed();
        }
    }

    void addPort(InetSocketAddress address) {
        ports.add(address);
        changed();
    }

    List<InetSocketAddress> ports() {
        return List.copyOf(ports);
    }

    /** Hosts may find other things than before: those that asked for it are told. */
    void changed() {
        generation.incrementAndGet();
        discovery.eachController(Controller::discoveryLogChanged);
    }

    /** What a host may find. */
    DiscoveryLogPage logPage(String hostNqn) {
        long genctr = generation.get();
        List<DiscoveryLogEntry> entries = new ArrayList<>();
        for (int i = 0; i < ports.size(); i++) {
            InetSocketAddress port = ports.get(i);
            entries.add(entry(
                    DiscoveryLogEntry.SUBTYPE_CURRENT_DISCOVERY,
                    discovery,
                    port,
                    i + 1,
                    DiscoveryLogEntry.EFLAGS_DUPRETINFO | DiscoveryLogEntry.EFLAGS_EPCSD));
            for (Subsystem subsystem : subsystems.values()) {
                if (subsystem.isAllowed(hostNqn)) {
                    entries.add(entry(DiscoveryLogEntry.SUBTYPE_NVME, subsystem, port, i + 1, 0));
                }
            }
        }
        return new DiscoveryLogPage(genctr, entries);
    }

    private static DiscoveryLogEntry entry(
            int subtype, Subsystem subsystem, InetSocketAddress port, int portid, int eflags) {
        boolean ipv6 = port.getAddress() instanceof Inet6Address;
        String address = AddressText.of(port.getAddress());
        int scope = address.indexOf('%');
        return new DiscoveryLogEntry(
                DiscoveryLogEntry.TRTYPE_RDMA,
                ipv6 ? DiscoveryLogEntry.ADRFAM_IPV6 : DiscoveryLogEntry.ADRFAM_IPV4,
                subtype,
                DiscoveryLogEntry.TREQ_NOT_SPECIFIED,
                portid,
                DiscoveryLogEntry.CNTLID_DYNAMIC,
                TargetOptions.ADMIN_QUEUE_SIZE,
                eflags,
                Integer.toString(port.getPort()),
                subsystem.nqn(),
                scope < 0 ? address : address.substring(0, scope),
                RdmaTsas.DEFAULT);
    }
}

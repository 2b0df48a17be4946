package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.AsyncEvent;
import org.nvmf4j.nvme.Cns;
import org.nvmf4j.nvme.DiscoveryLogEntry;
import org.nvmf4j.nvme.DiscoveryLogPage;
import org.nvmf4j.nvme.Feature;
import org.nvmf4j.nvme.IdentifyController;
import org.nvmf4j.nvme.LogPage;
import org.nvmf4j.nvme.NamespaceList;
import org.nvmf4j.nvme.Nqn;
import org.nvmf4j.nvme.NvmeFormatException;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.target.backend.NullBackend;
import org.nvmf4j.verbs.VerbsException;

/** Asynchronous events, discovery and keep alive. */
class EventsAndKeepAliveTest {
    /** Time limits are hours and are met or missed by minutes: real time goes by as well, and on a busy machine in large steps. */
    private static final long MINUTE = 60 * 1_000_000_000L;

    private static final int HOUR_MILLIS = 3_600_000;

    private final Subsystem subsystem = new Subsystem(RawHost.SUBSYSTEM_NQN);

    private RawHost open() throws VerbsException {
        subsystem.addNamespace(Namespace.of(1, new NullBackend(1 << 20)));
        return new RawHost(TargetOptions.defaults(), 2, subsystem);
    }

    private static int[] changedNamespaces(RawHost host, RawQueue admin, boolean rae) throws NvmeFormatException {
        host.logPage(admin, 0, LogPage.CHANGED_NAMESPACE_LIST, rae, 0, 4096);
        return NamespaceList.parse(admin.data.segment(), 0);
    }

    @Test
    void tellsOfChangedNamespacesOnceUntilTheLogIsRead() throws VerbsException, NvmeFormatException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            int first = host.sendEventRequest(admin);
            int second = host.sendEventRequest(admin);
            assertThat(admin.isAnswered(first)).isFalse();
            subsystem.addNamespace(Namespace.of(3, new NullBackend(1 << 20)));
            assertThat(admin.await(first).result()).isEqualTo(AsyncEvent.NAMESPACE_ATTRIBUTE_CHANGED);

            subsystem.addNamespace(Namespace.of(2, new NullBackend(1 << 20)));
            host.pumpUntilQuiet();
            assertThat(admin.isAnswered(second)).as("masked").isFalse();
            assertThat(changedNamespaces(host, admin, true)).containsExactly(2, 3);
            subsystem.addNamespace(Namespace.of(4, new NullBackend(1 << 20)));
            host.pumpUntilQuiet();
            assertThat(admin.isAnswered(second)).as("still masked").isFalse();
            assertThat(changedNamespaces(host, admin, false)).containsExactly(2, 3, 4);
            assertThat(changedNamespaces(host, admin, false)).isEmpty();
            host.pumpUntilQuiet();
            assertThat(admin.isAnswered(second)).as("nothing new").isFalse();

            CompletableFuture<Void> closed = subsystem.removeNamespace(3);
            assertThat(admin.await(second).result()).isEqualTo(AsyncEvent.NAMESPACE_ATTRIBUTE_CHANGED);
            host.pumpUntil("end of the backend", closed::isDone);
            assertThat(changedNamespaces(host, admin, false)).containsExactly(3);
            host.identify(admin, 0, Cns.ACTIVE_NAMESPACE_LIST);
            assertThat(NamespaceList.parse(admin.data.segment(), 0)).containsExactly(1, 2, 4);
        }
    }

    @Test
    void keepsAnEventForTheNextRequest() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            subsystem.addNamespace(Namespace.of(3, new NullBackend(1 << 20)));
            host.pumpUntilQuiet();
            assertThat(admin.await(host.sendEventRequest(admin)).result())
                    .isEqualTo(AsyncEvent.NAMESPACE_ATTRIBUTE_CHANGED);
            assertThat(admin.isAnswered(host.sendEventRequest(admin))).isFalse();
        }
    }

    @Test
    void saysNothingThatTheHostDoesNotWant() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            host.setFeature(admin, Feature.ASYNCHRONOUS_EVENT_CONFIGURATION, 0);
            int request = host.sendEventRequest(admin);
            subsystem.addNamespace(Namespace.of(3, new NullBackend(1 << 20)));
            host.pumpUntilQuiet();
            assertThat(admin.isAnswered(request)).isFalse();
        }
    }

    @Test
    void holdsFourEventRequests() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            for (int i = 0; i < 4; i++) {
                assertThat(admin.isAnswered(host.sendEventRequest(admin))).isFalse();
            }
            assertThat(NvmeStatus.code(admin.await(host.sendEventRequest(admin)).status()))
                    .isEqualTo(NvmeStatus.ASYNCHRONOUS_EVENT_REQUEST_LIMIT_EXCEEDED);
            admin.disconnect();
        }
    }

    private static DiscoveryLogPage readLog(RawHost host, RawQueue admin) throws NvmeFormatException {
        host.logPage(admin, 0, LogPage.DISCOVERY, true, 0, 20);
        int entries = DiscoveryLogPage.numrec(admin.data.segment(), 0);
        int length = DiscoveryLogPage.HEADER_BYTES + entries * DiscoveryLogEntry.SIZE_BYTES;
        host.logPage(admin, 0, LogPage.DISCOVERY, false, 0, length);
        return DiscoveryLogPage.parse(admin.data.segment(), 0, length);
    }

    @Test
    void findsWhatAHostMaySee() throws VerbsException, NvmeFormatException {
        Subsystem secret = new Subsystem("nqn.2025-01.org.example:secret");
        secret.allowHosts(Set.of("nqn.2025-01.org.example:other"));
        try (RawHost host = open()) {
            host.target.addSubsystem(secret);
            RawQueue admin = host.connectAdmin(Nqn.DISCOVERY, 0);
            host.identify(admin, 0, Cns.CONTROLLER);
            IdentifyController id = IdentifyController.parse(admin.data.segment(), 0);
            assertThat(id.isDiscovery()).isTrue();
            assertThat(id.cntlid()).isEqualTo(1);
            assertThat(NvmeStatus.code(
                            host.identify(admin, 0, Cns.ACTIVE_NAMESPACE_LIST).status()))
                    .isEqualTo(NvmeStatus.INVALID_FIELD);
            assertThat(NvmeStatus.code(host.logPage(admin, 0, LogPage.ERROR_INFORMATION, false, 0, 64)
                            .status()))
                    .isEqualTo(NvmeStatus.INVALID_LOG_PAGE);

            DiscoveryLogPage log = readLog(host, admin);
            assertThat(log.entries())
                    .extracting(DiscoveryLogEntry::subnqn)
                    .containsExactly(Nqn.DISCOVERY, RawHost.SUBSYSTEM_NQN);
            DiscoveryLogEntry entry = log.entries().get(1);
            assertThat(entry.traddr()).isEqualTo(host.address.getAddress().getHostAddress());
            assertThat(entry.trsvcid()).isEqualTo("4420");
            assertThat(entry.subtype()).isEqualTo(DiscoveryLogEntry.SUBTYPE_NVME);
            assertThat(entry.asqsz()).isEqualTo(32);
            secret.allowAnyHost();
            DiscoveryLogPage changed = readLog(host, admin);
            assertThat(changed.genctr()).isGreaterThan(log.genctr());
            assertThat(changed.entries()).hasSize(3);
        }
    }

    @Test
    void tellsAPersistentDiscoveryConnectionOfChanges() throws VerbsException, NvmeFormatException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin(Nqn.DISCOVERY, 30_000);
            host.setFeature(admin, Feature.ASYNCHRONOUS_EVENT_CONFIGURATION, AsyncEvent.NOTICE_DISCOVERY_LOG);
            int request = host.sendEventRequest(admin);
            Subsystem more = new Subsystem("nqn.2025-01.org.example:more");
            host.target.addSubsystem(more);
            assertThat(admin.await(request).result()).isEqualTo(AsyncEvent.DISCOVERY_LOG_CHANGED & 0xffff_ffffL);
            assertThat(readLog(host, admin).entries()).hasSize(3);
            request = host.sendEventRequest(admin);
            CompletableFuture<Void> removed = host.target.removeSubsystem(more);
            admin.await(request);
            host.pumpUntil("end of the subsystem", removed::isDone);
            assertThat(readLog(host, admin).entries()).hasSize(2);
        }
    }

    @Test
    void refusesASubsystemTwice() throws VerbsException {
        try (RawHost host = open()) {
            assertThatThrownBy(() -> host.target.addSubsystem(new Subsystem(RawHost.SUBSYSTEM_NQN)))
                    .hasMessageContaining("two subsystems are named");
            assertThatThrownBy(() -> host.target.addSubsystem(new Subsystem(Nqn.DISCOVERY)))
                    .hasMessageContaining("own discovery subsystem");
            assertThatThrownBy(() -> subsystem.addNamespace(Namespace.of(1, new NullBackend(4096))))
                    .hasMessageContaining("nsid 1 of")
                    .hasMessageContaining("is taken");
        }
    }

    @Test
    void endsTheControllerOfASubsystemThatIsRemoved() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            RawQueue io = host.connectIo(1, 16);
            CompletableFuture<Void> removed = host.target.removeSubsystem(subsystem);
            host.pumpUntil("end of the subsystem", () -> removed.isDone() && admin.ended && io.ended);
        }
    }

    @Test
    void endsEveryQueueOfAControllerWhoseHostIsSilent() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin(RawHost.SUBSYSTEM_NQN, HOUR_MILLIS);
            RawQueue io = host.connectIo(1, 16);
            host.runTimers(50 * MINUTE);
            assertThat(admin.ended || io.ended).isFalse();
            // Any command counts, on any queue: an hour from here.
            host.plain(io, 0, 1);
            host.runTimers(50 * MINUTE);
            assertThat(admin.ended || io.ended).isFalse();
            host.runTimers(70 * MINUTE);
            host.pumpUntil("end of the queues", () -> admin.ended && io.ended);
            assertThat(host.target.statistics().keepAliveExpiries()).isEqualTo(1);
            host.pumpUntil("end of the queues", () -> host.target.statistics().queues() == 0);
        }
    }

    @Test
    void waitsForEverWithoutATimeout() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin(RawHost.SUBSYSTEM_NQN, 0);
            assertThat(NvmeStatus.code(
                            host.plain(admin, AdminOpcode.KEEP_ALIVE, 0).status()))
                    .isEqualTo(NvmeStatus.KEEP_ALIVE_TIMEOUT_INVALID);
            host.runTimers(100_000 * MINUTE);
            assertThat(admin.ended).isFalse();
        }
    }

    @Test
    void takesATimeoutLater() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin(RawHost.SUBSYSTEM_NQN, 0);
            host.setFeature(admin, Feature.KEEP_ALIVE_TIMER, HOUR_MILLIS);
            assertThat(host.plain(admin, AdminOpcode.KEEP_ALIVE, 0).status()).isZero();
            host.runTimers(50 * MINUTE);
            assertThat(admin.ended).isFalse();
            host.runTimers(70 * MINUTE);
            host.pumpUntil("end of the queue", () -> admin.ended);
        }
    }

    @Test
    void endsAnIdleDiscoveryController() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin(Nqn.DISCOVERY, 0);
            host.runTimers(MINUTE);
            assertThat(admin.ended).isFalse();
            host.runTimers(3 * MINUTE);
            host.pumpUntil("end of the queue", () -> admin.ended);
        }
    }
}

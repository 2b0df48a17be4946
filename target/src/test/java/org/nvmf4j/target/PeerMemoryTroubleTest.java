package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.target.backend.MemoryBackend;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.target.spi.BackendStatus;
import org.nvmf4j.target.spi.PeerClient;
import org.nvmf4j.target.spi.PeerMemory;
import org.nvmf4j.target.spi.PeerMemoryProvider;
import org.nvmf4j.target.spi.Reach;
import org.nvmf4j.verbs.VerbsException;

/** Providers of peer memory that fail, are slow, or change in the middle of something. */
class PeerMemoryTroubleTest {
    private static final String ADDRESS = "0000:03:00.0";

    private final FakePeerMemory memory = new FakePeerMemory(ADDRESS, 4 << 20);
    private final FakePeerMachine machine = new FakePeerMachine(memory);
    private final Subsystem subsystem = new Subsystem(RawHost.SUBSYSTEM_NQN);
    /** What waits to be done beside the lanes. */
    private final Queue<Runnable> waiting = new ArrayDeque<>();

    private static Namespace namespace(int nsid, Backend backend, String p2pmem) {
        return Namespace.builder(nsid, backend)
                .peerMemory(PeerMemoryChoice.parse(p2pmem))
                .build();
    }

    private RawHost host(int vectors, Executor aside, PeerMemoryProvider provider) throws VerbsException {
        return new RawHost(
                TargetOptions.defaults(),
                vectors,
                false,
                builder -> builder.peerMemory(provider).aside(aside),
                subsystem);
    }

    private RawHost host(int vectors) throws VerbsException {
        return host(vectors, Runnable::run, machine);
    }

    private @Nullable PeerPlacement placement(int cntlid, int nsid) {
        return Objects.requireNonNull(subsystem.controller(cntlid)).peerMemory().get(nsid);
    }

    private static Runnable once(Runnable trouble) {
        AtomicInteger times = new AtomicInteger();
        return () -> {
            if (times.getAndIncrement() == 0) {
                trouble.run();
            }
        };
    }

    private static void fail() {
        throw new IllegalStateException("a fault of the driver");
    }

    @Test
    void aFailingAllocationLeavesTheLaneWithoutAPart() throws VerbsException {
        try (RawHost host = host(2)) {
            host.connectAdmin();
            memory.onAllocate = once(PeerMemoryTroubleTest::fail);
            subsystem.addNamespace(namespace(1, new MemoryBackend(1 << 20), ADDRESS));
            assertThat(subsystem.isEnabled(1)).isTrue();
            assertThat(memory.blocks()).as("that of the other lane").isOne();
        }
        assertThat(memory.blocks()).isZero();
    }

    @Test
    void aFailingAllocationLeavesOtherNamespacesAlone() throws VerbsException {
        memory.onAllocate = once(PeerMemoryTroubleTest::fail);
        subsystem.addNamespace(namespace(1, new MemoryBackend(1 << 20), "1"));
        subsystem.addNamespace(namespace(2, new MemoryBackend(1 << 20), "1"));
        try (RawHost host = host(1)) {
            host.connectAdmin();
            assertThat(placement(1, 1)).isEqualTo(PeerPlacement.NONE);
            assertThat(placement(1, 2)).isNotNull().isNotEqualTo(PeerPlacement.NONE);
        }
        assertThat(memory.blocks()).isZero();
    }

    @Test
    void aMemoryThatCannotBeLookedAtCountsAsThere() throws VerbsException {
        ManualBackend manual = new ManualBackend(1 << 20);
        subsystem.addNamespace(namespace(1, manual, "1"));
        try (RawHost host = host(1)) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 8);
            List<Integer> ids = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                ids.add(host.sendRead(io, 1, 0, 16, 0, 8192));
            }
            host.pumpUntil("requests", () -> manual.waiting() == 4);
            memory.onPresent = PeerMemoryTroubleTest::fail;
            host.target.peerMemories().checkPresence();
            for (int i = 0; i < 4; i++) {
                manual.complete(BackendStatus.MEDIA_ERROR);
            }
            for (int id : ids) {
                assertThat(NvmeStatus.describe(io.await(id).status())).startsWith("Unrecovered Read Error");
            }
            memory.onPresent = () -> {};
            machine.unplug(memory);
            host.target.peerMemories().checkPresence();
            host.pumpUntil("end of the memory", () -> memory.blocks() == 0);
        }
    }

    /** One fault in a lane's cycle must not lose the requests that come behind it. */
    @Test
    void aFaultInOneRequestLeavesTheOthersTheirEnd() throws VerbsException {
        ManualBackend manual = new ManualBackend(1 << 20);
        ManualBackend faulty = new ManualBackend(1 << 20);
        subsystem.addNamespace(namespace(1, manual, "0"));
        subsystem.addNamespace(namespace(2, faulty, "0"));
        try (RawHost host = host(1)) {
            host.connectAdmin();
            RawQueue broken = host.connectIo(1, 8);
            RawQueue whole = host.connectIo(2, 8);
            Request request = faultyRequest(host, broken, faulty);
            int id = host.sendRead(whole, 1, 0, 16, 0, 8192);
            host.pumpUntil("requests", () -> manual.waiting() == 1);
            faulty.complete(BackendStatus.SUCCESS);
            request.namespace = null; // as no request should be
            manual.complete(BackendStatus.SUCCESS);
            assertThat(NvmeStatus.describe(whole.await(id).status())).startsWith("Successful");
            host.pumpUntil("end of the queue with the fault", () -> broken.ended || broken.broken);
        }
    }

    private static Request faultyRequest(RawHost host, RawQueue io, ManualBackend backend) {
        host.sendRead(io, 2, 0, 16, 0, 8192);
        host.pumpUntil("a request", () -> backend.waiting() == 1);
        return (Request) backend.next();
    }

    @Test
    void aControllerThatComesDuringAnEnablingGetsItsPlace() throws VerbsException {
        try (RawHost host = host(1)) {
            for (int i = 0; i < 14; i++) { // so that the next is not behind the walk over those that there are
                host.connectAdmin().disconnect();
                host.pumpUntil(
                        "end of a controller", () -> host.target.statistics().controllers() == 0);
            }
            host.connectAdmin();
            memory.onAllocate = once(() -> {
                try {
                    host.connectAdmin();
                } catch (VerbsException e) {
                    throw new AssertionError(e);
                }
            });
            subsystem.addNamespace(namespace(1, new MemoryBackend(1 << 20), "1"));
            assertThat(placement(15, 1)).isNotNull().isNotEqualTo(PeerPlacement.NONE);
            assertThat(placement(16, 1)).isNotNull().isNotEqualTo(PeerPlacement.NONE);
        }
    }

    @Test
    void aMemoryThatVanishesWhileItIsTakenIsGivenBack() throws VerbsException {
        try (RawHost host = host(1)) {
            host.connectAdmin();
            memory.onAllocate = once(() -> {
                memory.vanish();
                host.target.peerMemories().memories().forEach(HeldPeerMemory::isPresent);
            });
            subsystem.addNamespace(namespace(1, new MemoryBackend(1 << 20), "1"));
            assertThat(placement(1, 1)).isEqualTo(PeerPlacement.VANISHED);
            host.pumpUntil("end of the memory", () -> memory.blocks() == 0);
        }
    }

    /** A mapping that went while the device is still there, or there again. */
    @Test
    void aMemoryThatIsStillOfferedCanBeTakenAgain() throws VerbsException {
        subsystem.addNamespace(namespace(1, new MemoryBackend(1 << 20), ADDRESS));
        try (RawHost host = host(1)) {
            host.connectAdmin();
            host.target.peerMemories().memories().forEach(HeldPeerMemory::vanish);
            assertThat(placement(1, 1)).isEqualTo(PeerPlacement.VANISHED);
            host.pumpUntil("end of the memory", () -> memory.blocks() == 0);
            CompletableFuture<Void> disabled = subsystem.disableNamespace(1);
            host.pumpUntil("end of the namespace", disabled::isDone);
            subsystem.enableNamespace(1);
            assertThat(memory.blocks()).isOne();
        }
    }

    @Test
    void aBlockThatCannotBeClosedIsNotCountedAsHeld() throws VerbsException {
        subsystem.addNamespace(namespace(1, new MemoryBackend(1 << 20), "1"));
        try (RawHost host = host(2)) {
            RawQueue admin = host.connectAdmin();
            memory.onClose = PeerMemoryTroubleTest::fail;
            admin.disconnect();
            host.pumpUntil("end of the memory", () -> memory.blocks() == 0);
            assertThat(host.target.peerMemoryStatistics().heldBytes()).isZero();
        }
    }

    @Test
    void aSubsystemThatCannotBeCheckedIsNotAdded() throws VerbsException {
        Subsystem other = new Subsystem("nqn.2025-01.org.example:other");
        other.addNamespace(namespace(1, new MemoryBackend(1 << 20), ADDRESS));
        boolean[] broken = {false};
        PeerMemoryProvider provider = new PeerMemoryProvider() {
            @Override
            public List<FakePeerMemory> memories() {
                if (broken[0]) {
                    throw new UncheckedIOException(new IOException("EIO"));
                }
                return machine.memories();
            }

            @Override
            public Reach reach(PeerMemory of, PeerClient client) {
                return machine.reach(of, client);
            }
        };
        try (RawHost host = host(1, Runnable::run, provider)) {
            broken[0] = true;
            assertThatThrownBy(() -> host.target.addSubsystem(other)).isInstanceOf(UncheckedIOException.class);
            assertThat(host.target.subsystems()).containsExactly(subsystem);
            broken[0] = false;
            host.target.addSubsystem(other);
        }
    }

    /** The host has nothing to keep alive before it knows that it is connected. */
    @Test
    void aSlowPlacementIsNotTheHostsSilence() throws VerbsException {
        subsystem.addNamespace(namespace(1, new MemoryBackend(1 << 20), "1"));
        try (RawHost host = host(1, waiting::add, machine)) {
            RawQueue admin = host.connectQueuePair(0, 32);
            int id = host.sendConnectLater(admin, 0, 31, 1000, RawHost.connectData(0xffff));
            host.pumpUntil("placement", () -> !waiting.isEmpty());
            host.runTimers(20_000_000_000L);
            assertThat(host.target.statistics().keepAliveExpiries()).isZero();
            waiting.remove().run();
            assertThat(admin.await(id).status()).isZero();
            host.runTimers(500_000_000L);
            assertThat(host.target.statistics().keepAliveExpiries()).isZero();
            host.runTimers(100_000_000_000L);
            assertThat(host.target.statistics().keepAliveExpiries()).isOne();
            waiting.forEach(Runnable::run);
        }
    }

    @Test
    void aHostThatHasGivenUpGetsNoPlaces() throws VerbsException {
        subsystem.addNamespace(namespace(1, new MemoryBackend(1 << 20), "1"));
        try (RawHost host = host(1, waiting::add, machine)) {
            RawQueue admin = host.connectQueuePair(0, 32);
            host.sendConnectLater(admin, 0, 31, 0, RawHost.connectData(0xffff));
            host.pumpUntil("placement", () -> !waiting.isEmpty());
            admin.connection.disconnect();
            host.pumpUntil(
                    "end of the controller", () -> host.target.statistics().controllers() == 0);
            waiting.remove().run();
            assertThat(memory.blocksEver()).isZero();
            host.pumpUntil("end of the queue", () -> host.target.statistics().queues() == 0);
        }
    }

    /** A lane that has ended has no request any more, also where its thread goes on. */
    @Test
    void aNamespaceIsRemovedWhileTheTargetCloses() throws VerbsException {
        ManualBackend manual = new ManualBackend(1 << 20);
        subsystem.addNamespace(namespace(1, manual, "1"));
        subsystem.addNamespace(namespace(2, new MemoryBackend(1 << 20), "0"));
        RawHost host = host(2);
        host.connectAdmin();
        RawQueue io = host.connectIo(1, 8);
        host.sendRead(io, 1, 0, 16, 0, 8192);
        host.pumpUntil("a request", () -> manual.waiting() == 1);
        CompletableFuture<Void> closed = host.target.closeAsync();
        host.pumpUntil(
                "end of all queues but one", () -> host.target.statistics().queues() == 1);
        host.pumpUntilQuiet();
        CompletableFuture<Void> removed = subsystem.removeNamespace(2);
        host.pumpUntilQuiet();
        manual.complete(BackendStatus.SUCCESS);
        host.pumpUntil("end of the target and the namespace", () -> closed.isDone() && removed.isDone());
        removed.join();
        host.close();
    }
}

package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.nvmf4j.target.PeerMemoryFallback.EXHAUSTED;
import static org.nvmf4j.target.PeerMemoryFallback.IN_CAPSULE;
import static org.nvmf4j.target.PeerMemoryFallback.NOT_SELECTED;
import static org.nvmf4j.target.PeerMemoryFallback.TOO_LARGE;
import static org.nvmf4j.target.PeerMemoryFallback.VANISHED;

import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.nvmf4j.nvme.AsyncEvent;
import org.nvmf4j.nvme.Cns;
import org.nvmf4j.nvme.DatasetManagementCommand;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.target.backend.MemoryBackend;
import org.nvmf4j.target.backend.NullBackend;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.target.spi.BackendStatus;
import org.nvmf4j.target.spi.Reach;
import org.nvmf4j.verbs.VerbsException;

class PeerMemoryTest {
    private static final String ADDRESS = "0000:03:00.0";
    private static final int BLOCKS = 16;
    private static final int BYTES = BLOCKS * 512;

    private final FakePeerMemory memory = new FakePeerMemory(ADDRESS, 4 << 20);
    private final FakePeerMachine machine = new FakePeerMachine(memory);
    private final Subsystem subsystem = new Subsystem(RawHost.SUBSYSTEM_NQN);

    private static Namespace namespace(int nsid, Backend backend, String p2pmem) {
        return Namespace.builder(nsid, backend)
                .peerMemory(PeerMemoryChoice.parse(p2pmem))
                .build();
    }

    private RawHost host(TargetOptions options, int vectors) throws VerbsException {
        return new RawHost(
                options, vectors, false, builder -> builder.peerMemory(machine).aside(Runnable::run), subsystem);
    }

    private RawHost host() throws VerbsException {
        return host(TargetOptions.defaults(), 1);
    }

    private static byte[] random(long seed) {
        byte[] bytes = new byte[BYTES];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    /** Whether the bytes are in the peer memory somewhere at a page. */
    private static boolean holds(FakePeerMemory memory, byte[] bytes) {
        for (long at = 0; at + bytes.length <= memory.sizeBytes(); at += 4096) {
            if (Arrays.equals(memory.memory().asSlice(at, bytes.length).toArray(ValueLayout.JAVA_BYTE), bytes)) {
                return true;
            }
        }
        return false;
    }

    private static long fallbacks(RawHost host, PeerMemoryFallback why) {
        return host.target.peerMemoryStatistics().fallbacks().getOrDefault(why, -1L);
    }

    private static void assertStatus(RawQueue.Answer answer, String words) {
        assertThat(NvmeStatus.describe(answer.status())).startsWith(words);
    }

    @Test
    void passesTheDataOfReadsAndWritesThroughIt() throws VerbsException {
        subsystem.addNamespace(namespace(1, new MemoryBackend(1 << 20), "1"));
        try (RawHost host = host()) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 8);
            byte[] bytes = random(1);
            assertStatus(host.write(io, 1, 0, BLOCKS, bytes), "Successful");
            assertThat(holds(memory, bytes)).as("written through it").isTrue();
            memory.memory().fill((byte) 0);
            assertThat(host.read(io, 1, 0, BLOCKS, BYTES)).isEqualTo(bytes);
            assertThat(holds(memory, bytes)).as("read through it").isTrue();
            PeerMemoryStatistics statistics = host.target.peerMemoryStatistics();
            assertThat(statistics.buffers()).isEqualTo(2);
            assertThat(statistics.bytes()).isEqualTo(2 * BYTES);
            assertThat(statistics.heldBytes()).isEqualTo(4 << 20);
            assertThat(statistics.fallbacks().values()).containsOnly(0L);
            assertThat(memory.blocks()).isOne();
        }
        assertThat(memory.blocks()).isZero();
    }

    @Test
    void leavesDataInCapsulesInSystemMemory() throws VerbsException {
        subsystem.addNamespace(namespace(1, new MemoryBackend(1 << 20), "1"));
        try (RawHost host =
                host(TargetOptions.builder().inCapsuleDataBytes(BYTES).build(), 1)) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 8);
            byte[] bytes = random(2);
            assertStatus(host.writeInCapsule(io, 1, 0, BLOCKS, bytes), "Successful");
            assertThat(holds(memory, bytes)).isFalse();
            assertThat(fallbacks(host, IN_CAPSULE)).isOne();
            assertThat(host.target.peerMemoryStatistics().buffers()).isZero();
            assertThat(host.read(io, 1, 0, BLOCKS, BYTES)).isEqualTo(bytes);
        }
    }

    @Test
    void usesSystemMemoryForWhatTheCpuReadsItself() throws VerbsException {
        subsystem.addNamespace(namespace(1, new MemoryBackend(1 << 20), "1"));
        try (RawHost host = host()) {
            RawQueue admin = host.connectAdmin();
            RawQueue io = host.connectIo(1, 8);
            assertStatus(host.identify(admin, 1, Cns.NAMESPACE), "Successful");
            int id = io.nextCommandId();
            DatasetManagementCommand.writeRange(io.data.segment(), 0, 0, 8);
            DatasetManagementCommand.write(io.memory(), io.capsule(), id, 1, 1, DatasetManagementCommand.AD_DEALLOCATE);
            io.keyed(0, DatasetManagementCommand.RANGE_SIZE_BYTES, false);
            io.send();
            assertStatus(io.await(id), "Successful");
            PeerMemoryStatistics statistics = host.target.peerMemoryStatistics();
            assertThat(statistics.buffers()).isZero();
            assertThat(statistics.fallbacks().values()).containsOnly(0L);
        }
    }

    @Test
    void leavesNamespacesAloneThatDoNotAskForIt() throws VerbsException {
        subsystem.addNamespace(namespace(1, new MemoryBackend(1 << 20), "0"));
        try (RawHost host = host()) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 8);
            host.write(io, 1, 0, BLOCKS, random(3));
            assertThat(memory.blocksEver()).isZero();
            assertThat(host.target.peerMemoryStatistics().fallbacks().values()).containsOnly(0L);
        }
    }

    @Test
    void fallsBackWhenItIsFullOrTooSmall() throws VerbsException {
        FakePeerMemory small = new FakePeerMemory(ADDRESS, 20 << 10); // 16 KiB can be used
        machine.unplug(memory);
        machine.plug(small);
        ManualBackend manual = new ManualBackend(1 << 20);
        subsystem.addNamespace(namespace(1, manual, "1"));
        subsystem.addNamespace(namespace(2, new MemoryBackend(1 << 20), "1"));
        try (RawHost host = host()) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 16);
            List<Integer> ids = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                ids.add(host.sendRead(io, 1, 0, BLOCKS, 0, BYTES));
            }
            host.pumpUntil("requests", () -> manual.waiting() == 3);
            assertThat(host.target.peerMemoryStatistics().buffers()).isEqualTo(2);
            assertThat(fallbacks(host, EXHAUSTED)).isOne();
            byte[] bytes = random(4);
            assertStatus(host.write(io, 2, 0, BLOCKS, bytes), "Successful");
            assertThat(host.read(io, 2, 0, BLOCKS, BYTES)).isEqualTo(bytes);
            assertThat(fallbacks(host, EXHAUSTED)).isEqualTo(3);
            for (int id : ids) {
                manual.complete(BackendStatus.SUCCESS);
                assertStatus(io.await(id), "Successful");
            }
            io.await(host.sendRead(io, 2, 0, 64, 0, 64 * 512));
            assertThat(fallbacks(host, TOO_LARGE)).isOne();
            assertThat(host.read(io, 2, 0, BLOCKS, BYTES)).isEqualTo(bytes);
            assertThat(holds(small, bytes)).isTrue();
        }
        assertThat(small.blocks()).isZero();
    }

    @Test
    void givesEveryLaneAnEqualPart() throws VerbsException {
        subsystem.addNamespace(namespace(1, new MemoryBackend(1 << 20), ADDRESS));
        try (RawHost host = host(TargetOptions.defaults(), 4)) {
            host.connectAdmin();
            for (int qid = 1; qid <= 4; qid++) {
                RawQueue io = host.connectIo(qid, 8);
                byte[] bytes = random(qid);
                assertStatus(host.write(io, 1, 0, BLOCKS, bytes), "Successful");
                assertThat(holds(memory, bytes)).as("lane of queue %d", qid).isTrue();
            }
            assertThat(memory.blocks()).isEqualTo(4);
            assertThat(memory.freeBytes()).isZero();
        }
        assertThat(memory.blocks()).isZero();
    }

    @Test
    void refusesADeviceThatCannotBeUsed() throws VerbsException {
        machine.reach = Reach.not("0000:03:00.0 is behind another host bridge");
        try (RawHost host = host()) {
            Backend backend = new MemoryBackend(1 << 20);
            assertThatThrownBy(() -> subsystem.addNamespace(namespace(1, backend, ADDRESS)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("namespace 1: p2pmem=0000:03:00.0: 0000:03:00.0 is behind another");
            assertThat(subsystem.namespaces()).isEmpty();
            assertThatThrownBy(() -> subsystem.addNamespace(namespace(1, backend, "0000:09:00.0")))
                    .hasMessageContaining("no such device has peer memory");
            subsystem.addNamespace(namespace(1, backend, "1"));
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 8);
            host.write(io, 1, 0, BLOCKS, random(5));
            assertThat(fallbacks(host, NOT_SELECTED)).isOne();
        }
    }

    @Test
    void doesNotStartWithADeviceThatCannotBeUsed() {
        machine.unplug(memory);
        subsystem.addNamespace(namespace(1, new MemoryBackend(1 << 20), ADDRESS));
        assertThatThrownBy(this::host)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("p2pmem=0000:03:00.0: no such device");
        assertThat(memory.blocksEver()).isZero();
    }

    @Test
    void cannotNameADeviceWithoutAProvider() throws VerbsException {
        subsystem.addNamespace(namespace(1, new MemoryBackend(1 << 20), "1"));
        try (RawHost host = new RawHost(TargetOptions.defaults(), 1, subsystem)) {
            assertThatThrownBy(() -> subsystem.addNamespace(namespace(2, new MemoryBackend(1 << 20), ADDRESS)))
                    .hasMessageContaining("no such device has peer memory");
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 8);
            assertStatus(host.write(io, 1, 0, BLOCKS, random(6)), "Successful");
            assertThat(fallbacks(host, NOT_SELECTED)).isOne();
        }
    }

    @Test
    void followsNamespacesAsTheyComeAndGo() throws VerbsException {
        try (RawHost host = host()) {
            RawQueue admin = host.connectAdmin();
            host.setFeature(admin, 0x0b, AsyncEvent.NOTICE_NAMESPACE_ATTRIBUTE);
            RawQueue io = host.connectIo(1, 8);
            int event = host.sendEventRequest(admin);
            ManualBackend manual = new ManualBackend(1 << 20);
            subsystem.addNamespace(namespace(1, manual, "1"));
            assertStatus(admin.await(event), "Successful");
            assertThat(memory.blocks()).isOne();

            int id = host.sendRead(io, 1, 0, BLOCKS, 0, BYTES);
            host.pumpUntil("a request", () -> manual.waiting() == 1);
            CompletableFuture<Void> disabled = subsystem.disableNamespace(1);
            assertThat(subsystem.isEnabled(1)).isFalse();
            assertThat(subsystem.namespaces()).hasSize(1);
            assertStatus(io.await(host.sendRead(io, 1, 0, BLOCKS, 0, BYTES)), "Invalid Namespace");
            host.pumpUntilQuiet();
            assertThat(disabled).as("while a request uses it").isNotDone();
            assertThat(memory.blocks()).isOne();
            manual.complete(BackendStatus.SUCCESS);
            assertStatus(io.await(id), "Successful");
            host.pumpUntil("end of the namespace's requests", disabled::isDone);
            assertThat(memory.blocks()).isZero();

            subsystem.enableNamespace(1);
            assertThat(memory.blocks()).isOne();
            int again = host.sendRead(io, 1, 0, BLOCKS, 0, BYTES);
            host.pumpUntil("a request", () -> manual.waiting() == 1);
            manual.complete(BackendStatus.SUCCESS);
            assertStatus(io.await(again), "Successful");
            assertThat(host.target.peerMemoryStatistics().buffers()).isEqualTo(2);
            CompletableFuture<Void> removed = subsystem.removeNamespace(1);
            host.pumpUntil("end of the namespace", removed::isDone);
            assertThat(memory.blocks()).isZero();
            assertThat(manual.isClosed()).isTrue();
        }
    }

    @Test
    void isTakenAgainWhileItIsStillBeingGivenBack() throws VerbsException {
        ManualBackend manual = new ManualBackend(1 << 20);
        subsystem.addNamespace(namespace(1, manual, "1"));
        try (RawHost host = host(TargetOptions.defaults(), 2)) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 8);
            int id = host.sendRead(io, 1, 0, BLOCKS, 0, BYTES);
            host.pumpUntil("a request", () -> manual.waiting() == 1);
            CompletableFuture<Void> disabled = subsystem.disableNamespace(1);
            host.pumpUntilQuiet();
            assertThat(memory.blocks())
                    .as("that of the lane whose request is under way")
                    .isOne();
            subsystem.enableNamespace(1);
            assertThat(memory.blocks()).isEqualTo(2);
            manual.complete(BackendStatus.SUCCESS);
            assertStatus(io.await(id), "Successful");
            host.pumpUntil("end of the request", disabled::isDone);
            host.pumpUntilQuiet();
            assertThat(memory.blocks()).isEqualTo(2);
        }
        assertThat(memory.blocks()).isZero();
    }

    @Test
    void isChosenWhileTheNamespaceIsDisabled() throws VerbsException {
        FakePeerMemory other = new FakePeerMemory("0000:04:00.0", 1 << 20);
        machine.plug(other);
        subsystem.addNamespace(namespace(1, new MemoryBackend(1 << 20), ADDRESS));
        try (RawHost host = host()) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 8);
            PeerMemoryChoice choice = PeerMemoryChoice.parse(other.pciAddress());
            assertThatThrownBy(() -> subsystem.choosePeerMemory(1, choice))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("namespace 1 of " + RawHost.SUBSYSTEM_NQN + " is enabled");
            CompletableFuture<Void> disabled = subsystem.disableNamespace(1);
            host.pumpUntil("end of its requests", disabled::isDone);
            var before = subsystem.namespaces().getFirst();
            subsystem.choosePeerMemory(1, choice);
            assertThat(subsystem.namespaces().getFirst().uuid()).isEqualTo(before.uuid());
            subsystem.enableNamespace(1);
            byte[] bytes = random(7);
            assertStatus(host.write(io, 1, 0, BLOCKS, bytes), "Successful");
            assertThat(holds(other, bytes)).isTrue();
            assertThat(memory.blocks()).isZero();
            assertThatThrownBy(() -> subsystem.enableNamespace(2)).hasMessageContaining("no namespace 2");
        }
    }

    /** The requests end so that the host tries again, and no others have lost their data. */
    private static void assertLost(RawHost host, RawQueue io, int... ids) throws VerbsException {
        for (int id : ids) {
            RawQueue.Answer answer = io.await(id);
            assertStatus(answer, "Data Transfer Error");
            assertThat(answer.status() & NvmeStatus.DNR).isZero();
        }
        assertThat(host.target.peerMemoryStatistics().lost()).isEqualTo(ids.length);
    }

    @Test
    void endsRequestsOfAVanishedDeviceSoThatTheHostTriesAgain() throws VerbsException {
        ManualBackend manual = new ManualBackend(1 << 20);
        subsystem.addNamespace(namespace(1, manual, "1"));
        subsystem.addNamespace(namespace(2, new MemoryBackend(1 << 20), "1"));
        try (RawHost host = host()) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 8);
            int read = host.sendRead(io, 1, 0, BLOCKS, 0, BYTES);
            int write = host.sendWrite(io, 1, 0, BLOCKS, 0, BYTES);
            host.pumpUntil("requests", () -> manual.waiting() == 2);
            machine.unplug(memory);
            host.target.peerMemories().checkPresence();
            manual.complete(BackendStatus.SUCCESS);
            manual.complete(BackendStatus.MEDIA_ERROR);
            assertLost(host, io, read, write);
            byte[] bytes = random(8);
            assertStatus(host.write(io, 2, 0, BLOCKS, bytes), "Successful");
            assertThat(host.read(io, 2, 0, BLOCKS, BYTES)).isEqualTo(bytes);
            assertThat(fallbacks(host, VANISHED)).isEqualTo(2);
            host.pumpUntilQuiet();
            assertThat(memory.blocks()).isZero();
        }
    }

    /** The device stays: requests that come after the loss pass through its memory as before. */
    @Test
    void endsRequestsWhoseDataWereLostInAReset() throws VerbsException {
        ManualBackend manual = new ManualBackend(1 << 20);
        subsystem.addNamespace(namespace(1, manual, "1"));
        try (RawHost host = host()) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 8);
            int read = host.sendRead(io, 1, 0, BLOCKS, 0, BYTES);
            int write = host.sendWrite(io, 1, 0, BLOCKS, 0, BYTES);
            host.pumpUntil("requests", () -> manual.waiting() == 2);
            memory.lose();
            manual.complete(BackendStatus.SUCCESS);
            manual.complete(BackendStatus.SUCCESS);
            assertLost(host, io, read, write);
            int later = host.sendRead(io, 1, 0, BLOCKS, 0, BYTES);
            host.pumpUntil("a request", () -> manual.waiting() == 1);
            manual.complete(BackendStatus.SUCCESS);
            assertStatus(io.await(later), "Successful");
            assertThat(host.target.peerMemoryStatistics().buffers()).isEqualTo(3);
            assertThat(fallbacks(host, VANISHED)).isZero();
        }
    }

    /** Nobody has looked yet: a failing request is the first to do so. */
    @Test
    void looksForTheDeviceWhenARequestFails() throws VerbsException {
        ManualBackend manual = new ManualBackend(1 << 20);
        subsystem.addNamespace(namespace(1, manual, "1"));
        try (RawHost host = host()) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 8);
            int id = host.sendRead(io, 1, 0, BLOCKS, 0, BYTES);
            host.pumpUntil("a request", () -> manual.waiting() == 1);
            machine.unplug(memory);
            manual.complete(BackendStatus.MEDIA_ERROR);
            assertStatus(io.await(id), "Data Transfer Error");
            int present = host.sendRead(io, 1, 0, BLOCKS, 0, BYTES);
            host.pumpUntil("a request", () -> manual.waiting() == 1);
            manual.complete(BackendStatus.MEDIA_ERROR);
            assertStatus(io.await(present), "Unrecovered Read Error");
        }
    }

    @Test
    void isThereBeforeTheHostIsConnectedAndGoesWithTheLastController() throws VerbsException {
        subsystem.addNamespace(namespace(1, new NullBackend(1 << 20), "1"));
        try (RawHost host =
                new RawHost(TargetOptions.defaults(), 1, true, builder -> builder.peerMemory(machine), subsystem)) {
            RawQueue first = host.connectAdmin();
            assertThat(memory.blocks()).isOne();
            RawQueue second = host.connectAdmin();
            assertThat(memory.blocks()).isOne();
            first.disconnect();
            RawQueue third = host.connectAdmin();
            second.disconnect();
            host.pumpUntil("end of a controller", () -> host.target.statistics().controllers() == 1);
            assertThat(memory.blocks()).isOne();
            third.disconnect();
            host.pumpUntil("end of the last controller", () -> memory.blocks() == 0);
        }
    }

    @Test
    void noticesByItselfThatTheDeviceHasVanished() throws VerbsException {
        subsystem.addNamespace(namespace(1, new MemoryBackend(1 << 20), "1"));
        try (RawHost host =
                new RawHost(TargetOptions.defaults(), 1, true, builder -> builder.peerMemory(machine), subsystem)) {
            host.connectAdmin();
            machine.unplug(memory);
            host.pumpUntil("end of the device", () -> memory.blocks() == 0);
            RawQueue io = host.connectIo(1, 8);
            assertStatus(host.write(io, 1, 0, BLOCKS, random(9)), "Successful");
            assertThat(fallbacks(host, VANISHED)).isOne();
        }
    }
}

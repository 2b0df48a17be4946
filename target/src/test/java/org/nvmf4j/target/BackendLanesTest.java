package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.target.spi.BackendStatus;
import org.nvmf4j.verbs.VerbsException;

/** Backends that have a part for each lane. */
class BackendLanesTest {
    private final PolledMemory polled = new PolledMemory(1 << 20, 1);
    private final Subsystem subsystem = new Subsystem(RawHost.SUBSYSTEM_NQN);

    private RawHost host(int vectors) throws VerbsException {
        return new RawHost(TargetOptions.defaults(), vectors, subsystem);
    }

    @Test
    void makesAPartWhereARequestComesAndMapsItsMemoryOnce() throws VerbsException {
        subsystem.addNamespace(Namespace.of(1, polled));
        byte[] written = new byte[8192];
        new Random(1).nextBytes(written);
        try (RawHost host = host(3)) {
            host.connectAdmin();
            RawQueue one = host.connectIo(1, 8);
            RawQueue two = host.connectIo(2, 8);
            assertThat(polled.parts()).isZero();
            assertThat(host.write(one, 1, 0, 16, written).status()).isZero();
            assertThat(polled.parts()).isOne();
            for (int i = 0; i < 3; i++) {
                assertThat(host.read(two, 1, 0, 16, 8192)).isEqualTo(written);
            }
            assertThat(polled.parts()).isEqualTo(2);
            assertThat(polled.mappingsEver).isEqualTo(2);
        }
        assertThat(polled.parts()).isZero();
    }

    @Test
    void mapsNoCapsules() throws VerbsException {
        subsystem.addNamespace(Namespace.of(1, polled));
        try (RawHost host = host(1)) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 8);
            assertThat(host.writeInCapsule(io, 1, 0, 8, new byte[4096]).status())
                    .isZero();
            assertThat(polled.inCapsule).isPositive();
            assertThat(polled.mappingsEver).isZero();
        }
    }

    @Test
    void endsThePartWithItsNamespaceAndMakesItAgain() throws VerbsException {
        subsystem.addNamespace(Namespace.of(1, polled));
        try (RawHost host = host(1)) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 8);
            assertThat(host.read(io, 1, 0, 16, 8192)).containsOnly(0);
            polled.hangs = true;
            int id = host.sendRead(io, 1, 0, 16, 0, 8192);
            host.pumpUntilQuiet();
            CompletableFuture<Void> disabled = subsystem.disableNamespace(1);
            host.pumpUntilQuiet();
            assertThat(disabled).isNotDone();
            assertThat(polled.parts()).isOne();
            polled.hangs = false;
            assertThat(io.await(id).status()).isZero();
            host.pumpUntil("end of the namespace", disabled::isDone);
            assertThat(polled.parts()).isZero();
            subsystem.enableNamespace(1);
            assertThat(host.read(io, 1, 0, 16, 8192)).containsOnly(0);
            assertThat(polled.partsEver).isEqualTo(2);
        }
    }

    @Test
    void failsRequestsForWhichThereIsNoPart() throws VerbsException {
        subsystem.addNamespace(Namespace.of(1, polled));
        polled.refuses = true;
        try (RawHost host = host(1)) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 8);
            int id = host.sendRead(io, 1, 0, 16, 0, 8192);
            assertThat(io.await(id).status() & ~NvmeStatus.MORE).isEqualTo(NvmeStatus.INTERNAL_ERROR);
            polled.refuses = false;
            assertThat(host.read(io, 1, 0, 16, 8192)).containsOnly(0);
        }
    }

    @Test
    void refusesABackendThatCannotServeAllLanes() throws VerbsException {
        assertThat(polled.laneLimit()).isEqualTo(4);
        try (RawHost host = host(5)) {
            subsystem.allowAnyHost();
            assertThatThrownBy(() -> host.target.subsystems().getFirst().addNamespace(Namespace.of(1, polled)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("namespace 1: polled memory serves 4 lanes at most, and the target has 5; use fewer"
                            + " lanes or addresses");
        }
        polled.close();
    }

    @Test
    void waitsForAMomentOnlyWhileSomethingIsOutstanding() throws VerbsException {
        subsystem.addNamespace(Namespace.of(1, polled));
        try (RawHost host = host(1)) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 8);
            TargetLane lane = host.target.lanes().getFirst();
            assertThat(host.read(io, 1, 0, 16, 8192)).containsOnly(0);
            host.runTimers(0);
            assertThat(lane.nextDeadlineNanos() - lane.nowNanos()).isGreaterThan(1_000_000);
            polled.hangs = true;
            int id = host.sendRead(io, 1, 0, 16, 0, 8192);
            host.pumpUntilQuiet();
            assertThat(lane.nextDeadlineNanos() - lane.nowNanos()).isBetween(1L, 100_000L);
            polled.hangs = false;
            assertThat(io.await(id).status()).isZero();
        }
    }

    @Test
    void endsEveryRequestWhenTheTargetCloses() throws VerbsException {
        subsystem.addNamespace(Namespace.of(1, polled));
        RawHost host = host(2);
        host.connectAdmin();
        List<RawQueue> queues = new ArrayList<>();
        for (int qid = 1; qid <= 4; qid++) {
            queues.add(host.connectIo(qid, 8));
        }
        polled.hangs = true;
        for (RawQueue io : queues) {
            host.sendRead(io, 1, 0, 16, 0, 8192);
            host.sendWrite(io, 1, 16, 16, 0, 8192);
        }
        host.pumpUntilQuiet();
        CompletableFuture<Void> closed = host.target.closeAsync();
        host.pumpUntilQuiet();
        assertThat(closed).isNotDone();
        polled.hangs = false;
        host.close();
        assertThat(polled.parts()).isZero();
    }

    @Test
    void passesOnWhatADeviceSays() throws VerbsException {
        ManualBackend manual = new ManualBackend(1 << 20);
        subsystem.addNamespace(Namespace.of(1, manual));
        try (RawHost host = host(1)) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 8);
            int id = host.sendRead(io, 1, 0, 16, 0, 8192);
            host.pumpUntil("a request", () -> manual.waiting() == 1);
            manual.next().deviceStatus(NvmeStatus.UNRECOVERED_READ_ERROR | NvmeStatus.DNR | 1 << 11);
            manual.complete(BackendStatus.DEVICE_STATUS);
            assertThat(io.await(id).status() & ~NvmeStatus.MORE)
                    .as("without the device's retry delay")
                    .isEqualTo(NvmeStatus.UNRECOVERED_READ_ERROR | NvmeStatus.DNR);
        }
    }
}

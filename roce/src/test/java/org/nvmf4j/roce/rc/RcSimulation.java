package org.nvmf4j.roce.rc;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.zip.CRC32;
import org.nvmf4j.testkit.NetworkConditions;
import org.nvmf4j.testkit.SimulatedNetwork;
import org.nvmf4j.testkit.VirtualClock;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.WorkCompletionStatus;

/** Two queue pairs with random users on a network that misbehaves; everything follows from one seed. */
final class RcSimulation implements AutoCloseable {
    private static final long STEP_LIMIT = 1_000_000;
    private static final int CRC_BYTES = 4;

    final SplittableRandom random;
    final Arena arena = Arena.ofConfined();
    final VirtualClock clock = new VirtualClock();
    final SimulatedNetwork network;
    final SimulatedPeer a;
    final SimulatedPeer b;
    private final WireMonitor monitor;
    private final CRC32 crc = new CRC32();
    private long steps;
    long rejectedByCrc;

    RcSimulation(long seed) {
        random = new SplittableRandom(seed);
        int mtu = 256 << random.nextInt(5);
        network = new SimulatedNetwork(clock, random.split(), randomConditions());
        int window = 1 + random.nextInt(64);
        RcTuning tuning = new RcTuning(
                window,
                1 + random.nextInt(64),
                1 + random.nextInt(20),
                random.nextInt(3) * 25_000L,
                random.nextInt(2) * 200_000L,
                random.nextInt(2) * 50_000L);
        int maxMessage = mtu * (1 + random.nextInt(6)) + random.nextInt(8);
        monitor = new WireMonitor(mtu, window);
        a = new SimulatedPeer("a", 0xA, tuning, random.split(), arena, mtu, maxMessage);
        b = new SimulatedPeer("b", 0xB, tuning, random.split(), arena, mtu, maxMessage);
        a.meet(b);
        b.meet(a);
        int psnA = randomPsn();
        int psnB = randomPsn();
        int depthA = 1 + random.nextInt(5);
        int depthB = 1 + random.nextInt(5);
        int rnrTimer = random.nextInt(1, 15);
        connect(a, 0xB, psnA, psnB, mtu, depthA, depthB, rnrTimer);
        connect(b, 0xA, psnB, psnA, mtu, depthB, depthA, rnrTimer);
        network.attach("a", (from, packet) -> deliver(a, packet));
        network.attach("b", (from, packet) -> deliver(b, packet));
    }

    private NetworkConditions randomConditions() {
        boolean rough = random.nextInt(4) != 0;
        double bad = rough ? 0.06 * random.nextDouble() : 0;
        return new NetworkConditions(
                bad * random.nextInt(2),
                bad * random.nextInt(3),
                bad * random.nextInt(4),
                bad * random.nextInt(2) / 2,
                1_000 + random.nextInt(20_000),
                random.nextInt(10_000),
                random.nextInt(100_000));
    }

    /** Often close to the wrap. */
    private int randomPsn() {
        return random.nextBoolean() ? random.nextInt(1 << 24) : (1 << 24) - 1 - random.nextInt(64);
    }

    private void connect(
            SimulatedPeer peer, int remote, int sendPsn, int receivePsn, int mtu, int depth, int resources, int rnr) {
        monitor.connect(peer.name, sendPsn);
        peer.end.queuePair.connect(
                new RcParameters(remote, sendPsn, receivePsn, mtu, depth, resources, 7, 7, 2_000_000, rnr));
    }

    private void deliver(SimulatedPeer peer, byte[] packet) {
        int length = packet.length - CRC_BYTES;
        byte[] body = Arrays.copyOf(packet, length);
        if (!Arrays.equals(withCrc(body), packet)) {
            rejectedByCrc++;
            return;
        }
        monitor.delivered(peer.name, new Packet(body));
        peer.end.queuePair.onPacket(MemorySegment.ofArray(packet), 0, length, clock.nowNanos());
        peer.complete();
    }

    private byte[] withCrc(byte[] body) {
        crc.reset();
        crc.update(body);
        byte[] packet = Arrays.copyOf(body, body.length + CRC_BYTES);
        int value = (int) crc.getValue();
        for (int i = 0; i < CRC_BYTES; i++) {
            packet[body.length + i] = (byte) (value >>> (8 * i));
        }
        return packet;
    }

    /** Does what happens next; false if nothing will ever happen again. */
    boolean step() {
        assertThat(++steps).as("steps").isLessThan(STEP_LIMIT);
        boolean aWorks = work(a);
        boolean users = work(b) || aWorks;
        transmit(a, b);
        transmit(b, a);
        if (!network.deliverOne()) {
            long next = Math.min(
                    network.nextArrivalNanos(),
                    Math.min(a.end.queuePair.nextDeadlineNanos(), b.end.queuePair.nextDeadlineNanos()));
            if (users) {
                next = Math.min(next, clock.nowNanos() + 1 + random.nextInt(20_000));
            }
            if (next == Long.MAX_VALUE) {
                return false;
            }
            clock.advanceTo(next);
        } else {
            deliverBatch();
        }
        timeout(a);
        timeout(b);
        if (steps % 64 == 0) {
            checkGuards();
        }
        return true;
    }

    /** The queue pairs transmit only after a batch. */
    private void deliverBatch() {
        boolean more = true;
        while (more) {
            more = random.nextInt(4) != 0 && network.deliverOne();
        }
    }

    /** Lets a user work now and then; true if it has more to do. */
    private boolean work(SimulatedPeer peer) {
        boolean alive = peer.end.queuePair.state() == QueuePairState.READY_TO_SEND;
        if (alive && random.nextInt(4) == 0) {
            peer.work();
        }
        if (alive && random.nextInt(6) == 0) {
            peer.receive();
        }
        peer.complete();
        return alive && peer.wantsWork();
    }

    private void transmit(SimulatedPeer from, SimulatedPeer to) {
        if (!from.end.queuePair.wantsTransmit() && random.nextInt(4) != 0) {
            return;
        }
        int passes = 1 + random.nextInt(3);
        for (int i = 0; i < passes; i++) {
            BatchSink sink = from.end.sink;
            sink.room(1 + random.nextInt(64));
            boolean more = from.end.queuePair.pollTransmit(sink, clock.nowNanos());
            for (int p = 0; p < sink.count(); p++) {
                byte[] body = sink.packet(p);
                monitor.sent(from.name, to.name, new Packet(body));
                network.send(from.name, to.name, withCrc(body));
            }
            sink.clear();
            from.complete();
            if (!more) {
                assertThat(from.end.queuePair.wantsTransmit()).isFalse();
                return;
            }
        }
    }

    private void timeout(SimulatedPeer peer) {
        if (peer.end.queuePair.nextDeadlineNanos() <= clock.nowNanos()) {
            peer.end.queuePair.onTimeout(clock.nowNanos());
            peer.complete();
        }
    }

    void checkGuards() {
        a.checkGuards();
        b.checkGuards();
    }

    /** Runs until all work is done and the network is silent, and checks that all is as it should be. */
    void runToSuccess() {
        startWork();
        runOut();
        for (SimulatedPeer peer : new SimulatedPeer[] {a, b}) {
            assertThat(peer.end.queuePair.state()).isEqualTo(QueuePairState.READY_TO_SEND);
            assertThat(peer.idle()).as("%s idle", peer.name).isTrue();
            peer.checkFinalMemory();
        }
        checkGuards();
        assertThat(network.corrupted()).isGreaterThanOrEqualTo(rejectedByCrc);
    }

    /**
     * Cuts the connection in one or both directions in the midst of the work: who still waits for the other gives up in the end,
     * and everything posted completes once.
     */
    void runIntoPartition() {
        startWork();
        int before = random.nextInt(300);
        for (int i = 0; i < before; i++) {
            step();
        }
        network.cut("a", "b");
        if (random.nextBoolean()) {
            network.cut("b", "a");
        }
        expectErrors();
        runOut();
        for (SimulatedPeer peer : new SimulatedPeer[] {a, b}) {
            RcEnd.Completion error = peer.firstError;
            if (error != null) {
                assertThat(error.status()).isEqualTo(WorkCompletionStatus.RETRY_EXCEEDED);
                assertThat(peer.end.queuePair.state()).isEqualTo(QueuePairState.ERROR);
            }
        }
        endBoth();
    }

    /** One request breaks a rule: it and all behind it fail, all before it succeed, at both ends everything completes once. */
    void runIntoFatalError() {
        startWork();
        a.operationsLeft++;
        a.sabotage();
        expectErrors();
        runOut();
        RcEnd.Completion error = a.firstError;
        assertThat(error).isNotNull();
        assertThat(a.end.queuePair.state()).isEqualTo(QueuePairState.ERROR);
        assertThat(error.id()).as("%s", error).isLessThanOrEqualTo(a.spoiledId);
        if (error.id() == a.spoiledId) {
            assertThat(error.status())
                    .isIn(
                            WorkCompletionStatus.REMOTE_ACCESS_ERROR,
                            WorkCompletionStatus.REMOTE_INVALID_REQUEST,
                            WorkCompletionStatus.LOCAL_PROTECTION_ERROR,
                            WorkCompletionStatus.RETRY_EXCEEDED); // the NAK was lost
        } else { // an acknowledgement was lost with the NAK, or a READ's data before it
            assertThat(error.status())
                    .isIn(WorkCompletionStatus.RETRY_EXCEEDED, WorkCompletionStatus.WORK_REQUEST_FLUSHED);
        }
        endBoth();
    }

    private void startWork() {
        a.operationsLeft = random.nextInt(30);
        b.operationsLeft = random.nextInt(30);
    }

    private void expectErrors() {
        a.expectsErrors = true;
        b.expectsErrors = true;
    }

    /** Runs until nothing happens any more, with users that stop when their queue pair has died. */
    private void runOut() {
        boolean running = true;
        while (running) {
            running = step();
        }
    }

    private void endBoth() {
        a.end.queuePair.toError();
        b.end.queuePair.toError();
        a.complete();
        b.complete();
        network.heal();
        runOut();
        a.checkAftermath();
        b.checkAftermath();
    }

    @Override
    public void close() {
        arena.close();
    }
}

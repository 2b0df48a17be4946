package org.nvmf4j.roce.rc;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.SplittableRandom;
import org.nvmf4j.testkit.NetworkConditions;
import org.nvmf4j.testkit.SimulatedNetwork;
import org.nvmf4j.testkit.VirtualClock;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;

/** A user that moves messages to or from a peer which takes its time for each packet, from a queue that can overflow. */
final class BusyPeer {
    static final int MESSAGE_PACKETS = 32;
    private static final int MTU = 256;
    private static final int DEPTH = 16;
    private static final long ACK_TIMEOUT_NANOS = RcParameters.ackTimeoutNanos(16);

    final RcEnd user = new RcEnd(0xA, RcTuning.DEFAULT);
    final RcStatistics statistics = user.queuePair.statistics();
    private final RcEnd peer = new RcEnd(0xB, RcTuning.DEFAULT);
    private final MemoryRegion local = user.region(MESSAGE_PACKETS * MTU);
    private final MemoryRegion remote = peer.region(MESSAGE_PACKETS * MTU);
    private final VirtualClock clock = new VirtualClock();
    private final SimulatedNetwork network;
    private final Deque<Packet> queue = new ArrayDeque<>();
    private final int queuePackets;
    private final long nanosPerPacket;
    private long busyUntil;
    private long overflows;

    BusyPeer(long seed, NetworkConditions conditions, int queuePackets, long nanosPerPacket) {
        this.queuePackets = queuePackets;
        this.nanosPerPacket = nanosPerPacket;
        network = new SimulatedNetwork(clock, new SplittableRandom(seed), conditions);
        network.attach("user", (from, packet) -> user.receive(new Packet(packet)));
        network.attach("peer", (from, packet) -> enqueue(packet));
        user.queuePair.connect(new RcParameters(0xB, 1, 2, MTU, 4, 4, 7, 7, ACK_TIMEOUT_NANOS, 1));
        peer.queuePair.connect(new RcParameters(0xA, 2, 1, MTU, 4, 4, 7, 7, ACK_TIMEOUT_NANOS, 1));
    }

    private void enqueue(byte[] packet) {
        if (queue.size() < queuePackets) {
            queue.add(new Packet(packet));
        } else {
            overflows++;
        }
    }

    long overflows() {
        return overflows;
    }

    /** The peer does nothing for a while. */
    void stall(long nanos) {
        busyUntil = clock.nowNanos() + nanos;
    }

    /** Moves messages, several at a time, until all have completed. */
    void move(WorkOpcode opcode, int messages) {
        int posted = 0;
        int completed = 0;
        while (completed < messages) {
            for (; posted < messages && posted < completed + DEPTH; posted++) {
                SendWorkRequest request = user.send(posted, opcode, local, 0, MESSAGE_PACKETS * MTU);
                request.remote(remote.address(), remote.rkey());
                user.queuePair.postSend(request);
            }
            step();
            for (RcEnd.Completion completion : user.takeCompletions()) {
                if (completion.status() != WorkCompletionStatus.SUCCESS) {
                    throw new AssertionError("after " + clock.nowNanos() + " ns: " + completion);
                }
                completed++;
            }
        }
    }

    private void step() {
        transmit(user, "user", "peer");
        if (clock.nowNanos() >= busyUntil) {
            transmit(peer, "peer", "user");
        }
        advance();
        boolean delivered = true;
        while (delivered) {
            delivered = network.deliverOne();
        }
        if (clock.nowNanos() >= busyUntil) {
            if (!queue.isEmpty()) {
                peer.receive(queue.remove());
                busyUntil = clock.nowNanos() + nanosPerPacket;
            }
            peer.pass(0);
        }
        user.pass(0);
    }

    private void transmit(RcEnd end, String from, String to) {
        end.transmit().forEach(packet -> network.send(from, to, packet.bytes()));
    }

    private void advance() {
        boolean peerWaits = queue.isEmpty() && !peer.queuePair.wantsTransmit();
        long peerNext = peerWaits ? peer.queuePair.nextDeadlineNanos() : 0;
        long next = Math.min(
                Math.max(peerNext, busyUntil),
                Math.min(network.nextArrivalNanos(), user.queuePair.nextDeadlineNanos()));
        clock.advanceTo(next);
        user.now = clock.nowNanos();
        peer.now = clock.nowNanos();
    }
}

package org.nvmf4j.testkit.contract;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.CompletionQueue;
import org.nvmf4j.verbs.Connection;
import org.nvmf4j.verbs.ConnectionHandler;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.ConnectionRequest;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.IdleStrategy;
import org.nvmf4j.verbs.Lane;
import org.nvmf4j.verbs.Listener;
import org.nvmf4j.verbs.QueuePair;
import org.nvmf4j.verbs.QueuePairOptions;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkCompletion;
import org.nvmf4j.verbs.WorkOpcode;

/**
 * Hosts that send messages and targets that answer each with the same, all on lanes with threads of their own. An answer is an RDMA WRITE
 * and then a message, so that each round tests the order of both.
 */
final class EchoTraffic implements AutoCloseable {
    private static final int MESSAGE_BYTES = 300;
    private static final int DATA_BYTES = 6000;

    private final Fabric devices;
    private final List<Lane> hostLanes;
    private final List<Lane> targetLanes;
    private final Listener listener;
    private final List<CompletableFuture<?>> targets = new ArrayList<>();
    private final AtomicInteger roundsMade = new AtomicInteger();

    EchoTraffic(Fabric devices, IdleStrategy idle) throws VerbsException {
        this.devices = devices;
        hostLanes = lanes(devices.host.device, idle, "host");
        targetLanes = lanes(devices.target.device, idle, "target");
        listener = devices.target.device.listen(0, this::onRequest);
    }

    private static List<Lane> lanes(Device device, IdleStrategy idle, String name) {
        List<Lane> lanes = new ArrayList<>();
        for (int i = 0; i < device.attributes().vectors(); i++) {
            Lane lane = new Lane(device.vector(i), idle);
            lane.start("echo-" + name + "-" + i);
            lanes.add(lane);
        }
        return lanes;
    }

    /** Connections per host lane, each of so many rounds; returns when all are through. */
    void run(int connections, int rounds) throws Exception {
        List<CompletableFuture<?>> all = start(connections, rounds);
        CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)).get(Fabric.LIMIT_SECONDS, TimeUnit.SECONDS);
        synchronized (targets) {
            for (CompletableFuture<?> target : targets) {
                if (target.isCompletedExceptionally()) {
                    target.get();
                }
            }
        }
    }

    /** The same without waiting; gives what completes with the connections. */
    List<CompletableFuture<?>> start(int connections, int rounds) {
        List<CompletableFuture<?>> all = new ArrayList<>();
        int number = 0;
        for (Lane lane : hostLanes) {
            for (int i = 0; i < connections; i++) {
                CompletableFuture<Void> done = new CompletableFuture<>();
                byte[] which = {(byte) (number++ % targetLanes.size())};
                all.add(done);
                lane.execute(() -> attempt(done, () -> new HostEnd(lane, rounds, done).connect(which)));
            }
        }
        return all;
    }

    /** Waits until all connections together have made so many rounds. */
    void awaitRounds(int rounds) {
        long start = System.nanoTime();
        while (roundsMade.get() < rounds) {
            Thread.onSpinWait();
            if (System.nanoTime() - start > TimeUnit.SECONDS.toNanos(Fabric.LIMIT_SECONDS)) {
                throw new AssertionError("only " + roundsMade + " rounds in " + Fabric.LIMIT_SECONDS + " s");
            }
        }
    }

    private void onRequest(ConnectionRequest request) {
        Lane lane = targetLanes.get(request.parameters().privateData()[0]);
        CompletableFuture<Void> broken = new CompletableFuture<>();
        synchronized (targets) {
            targets.add(broken);
        }
        lane.execute(() -> attempt(broken, () -> new TargetEnd(lane, broken).accept(request)));
    }

    private interface Attempt {
        void run() throws VerbsException;
    }

    private static void attempt(CompletableFuture<Void> future, Attempt attempt) {
        try {
            attempt.run();
        } catch (VerbsException | RuntimeException e) {
            future.completeExceptionally(e);
        }
    }

    /** A queue pair with its buffers: message out, message in, data. */
    private abstract static class End implements ConnectionHandler {
        final Node node;
        final CompletableFuture<Void> done;
        final CompletionQueue queue;
        final QueuePair queuePair;
        final RegisteredMemory out;
        final RegisteredMemory in;
        final RegisteredMemory data;
        private final ReceiveWorkRequest receive = new ReceiveWorkRequest(1);

        End(Node node, Lane lane, CompletableFuture<Void> done) throws VerbsException {
            this.node = node;
            this.done = done;
            queue = node.device.createCompletionQueue(16, lane.vector().index());
            queuePair = node.device.createQueuePair(
                    node.domain, new QueuePairOptions(queue, queue, 8, 4, 1, MESSAGE_BYTES, null));
            out = new RegisteredMemory(node.domain, MESSAGE_BYTES, Node.ALL);
            in = new RegisteredMemory(node.domain, MESSAGE_BYTES, EnumSet.of(AccessFlag.LOCAL_WRITE));
            data = new RegisteredMemory(node.domain, DATA_BYTES, Node.ALL);
            receive.setSge(in.region(), 0, MESSAGE_BYTES);
            queuePair.postReceive(receive);
            lane.add(nowNanos -> queue.poll(16, this::onCompletion));
        }

        private void onCompletion(WorkCompletion completion) {
            attempt(done, () -> {
                if (!completion.isSuccess()) {
                    throw new VerbsException(
                            "completion with " + completion.status().words());
                }
                if (completion.opcode() == WorkOpcode.RECEIVE) {
                    onMessage();
                }
            });
        }

        abstract void onMessage();

        void postReceive() {
            queuePair.postReceive(receive);
        }

        @Override
        public void onRejected(Connection connection, int reason, byte[] privateData) {
            done.completeExceptionally(new VerbsException("rejected: " + reason));
        }

        @Override
        public void onFailed(Connection connection, VerbsException cause) {
            done.completeExceptionally(cause);
        }

        @Override
        public void onDisconnected(Connection connection) {
            // The devices are being closed.
        }
    }

    private final class HostEnd extends End {
        private final int rounds;
        private int round;

        HostEnd(Lane lane, int rounds, CompletableFuture<Void> done) throws VerbsException {
            super(devices.host, lane, done);
            this.rounds = rounds;
        }

        void connect(byte[] which) throws VerbsException {
            node.device.connect(queuePair, listener.localAddress(), Fabric.parameters(which), this);
        }

        @Override
        public void onEstablished(Connection connection, ConnectionParameters peer) {
            sendNext();
        }

        /** The message begins with where the peer may write. */
        private void sendNext() {
            out.fill(12, MESSAGE_BYTES - 12, round);
            Bytes.putLong(out.segment(), 0, data.address());
            Bytes.putInt(out.segment(), 8, data.region().rkey());
            SendWorkRequest send = new SendWorkRequest(1);
            send.setSge(out.region(), 0, MESSAGE_BYTES);
            queuePair.postSend(send);
        }

        @Override
        void onMessage() {
            in.assertFilled(12, MESSAGE_BYTES - 12, round);
            data.assertFilled(0, DATA_BYTES, MESSAGE_BYTES);
            data.clear();
            round++;
            roundsMade.incrementAndGet();
            if (round == rounds) {
                out.assertGuards();
                in.assertGuards();
                data.assertGuards();
                done.complete(null);
            } else {
                postReceive();
                sendNext();
            }
        }
    }

    private final class TargetEnd extends End {
        private @Nullable Connection connection;

        TargetEnd(Lane lane, CompletableFuture<Void> broken) throws VerbsException {
            super(devices.target, lane, broken);
            data.fill(0, DATA_BYTES, MESSAGE_BYTES);
        }

        void accept(ConnectionRequest request) throws VerbsException {
            connection = request.accept(queuePair, Fabric.PARAMETERS, this);
        }

        @Override
        public void onEstablished(Connection established, ConnectionParameters peer) {
            if (connection != established) {
                throw new IllegalStateException("an event of another connection");
            }
        }

        @Override
        void onMessage() {
            SendWorkRequest write = new SendWorkRequest(1);
            write.opcode(WorkOpcode.RDMA_WRITE);
            write.signaled(false);
            write.setSge(data.region(), 0, DATA_BYTES);
            write.remote(Bytes.getLong(in.segment(), 0), Bytes.getInt(in.segment(), 8));
            out.segment().copyFrom(in.segment());
            SendWorkRequest send = new SendWorkRequest(1);
            send.setSge(out.region(), 0, MESSAGE_BYTES);
            write.next(send);
            postReceive();
            queuePair.postSend(write);
        }
    }

    @Override
    public void close() {
        listener.close();
        hostLanes.forEach(Lane::close);
        targetLanes.forEach(Lane::close);
        devices.close();
    }
}

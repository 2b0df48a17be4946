package org.nvmf4j.testkit.contract;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.CompletionQueue;
import org.nvmf4j.verbs.Connection;
import org.nvmf4j.verbs.ConnectionHandler;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.QueuePair;
import org.nvmf4j.verbs.QueuePairOptions;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.SharedReceiveQueue;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkOpcode;

/** One queue pair with what it needs, and a record of all that completed and happened on it. */
final class Endpoint implements ConnectionHandler {
    static final int DEFAULT_DEPTH = 64;
    static final int MAX_SGE = 8;
    static final int USUAL_SEND_BYTES = 128;

    final Node node;
    final CompletionQueue sendQueue;
    final CompletionQueue receiveQueue;
    final QueuePair queuePair;
    final List<Completed> sent = new ArrayList<>();
    final List<Completed> received = new ArrayList<>();
    /** The connection's events: established, rejected, failed, disconnected. */
    final List<String> events = new ArrayList<>();

    @Nullable
    Connection connection;

    @Nullable
    ConnectionParameters peer;

    int rejectReason;
    byte[] rejectData = {};
    String failure = "";
    private long nextId = 1;

    Endpoint(Node node, int vector, int sends, int receives) throws VerbsException {
        this(
                node,
                node.device.createCompletionQueue(sends + 1, vector),
                node.device.createCompletionQueue(receives + 1, vector),
                sends,
                receives);
    }

    Endpoint(Node node, CompletionQueue sendQueue, CompletionQueue receiveQueue, int sends, int receives)
            throws VerbsException {
        this(node, sendQueue, receiveQueue, sends, receives, null);
    }

    Endpoint(
            Node node,
            CompletionQueue sendQueue,
            CompletionQueue receiveQueue,
            int sends,
            int receives,
            @Nullable SharedReceiveQueue shared)
            throws VerbsException {
        this.node = node;
        this.sendQueue = sendQueue;
        this.receiveQueue = receiveQueue;
        this.queuePair = node.device.createQueuePair(
                node.domain,
                new QueuePairOptions(
                        sendQueue, receiveQueue, sends, receives, MAX_SGE, USUAL_SEND_BYTES, this, shared));
        node.endpoints.add(this);
    }

    int inlineBytes() {
        return queuePair.inlineBytes();
    }

    QueuePairState state() {
        return queuePair.state();
    }

    Connection connection() {
        return Objects.requireNonNull(connection, "no connection yet");
    }

    ConnectionParameters peer() {
        return Objects.requireNonNull(peer, "not established");
    }

    boolean isEstablished() {
        return events.contains("established");
    }

    /** Takes what has completed; completions of other queue pairs on a shared queue go to theirs. */
    int poll() {
        int taken =
                sendQueue.poll(Integer.MAX_VALUE, c -> owner(c.context()).sent.add(Completed.of(c)));
        if (receiveQueue != sendQueue) {
            taken += receiveQueue.poll(
                    Integer.MAX_VALUE, c -> owner(c.context()).received.add(Completed.of(c)));
        }
        return taken;
    }

    private static Endpoint owner(@Nullable Object context) {
        return (Endpoint) Objects.requireNonNull(context);
    }

    SendWorkRequest request(WorkOpcode opcode, RegisteredMemory from, long offset, int bytes) {
        SendWorkRequest request = new SendWorkRequest(MAX_SGE);
        request.id(nextId++);
        request.opcode(opcode);
        request.setSge(from.region(), offset, bytes);
        return request;
    }

    /** Posts a SEND and gives its id, as the next ones do. */
    long send(RegisteredMemory from, long offset, int bytes) {
        return post(request(WorkOpcode.SEND, from, offset, bytes));
    }

    long write(RegisteredMemory from, long offset, int bytes, RegisteredMemory to, long toOffset) {
        SendWorkRequest request = request(WorkOpcode.RDMA_WRITE, from, offset, bytes);
        request.remote(to.address() + toOffset, to.region().rkey());
        return post(request);
    }

    long read(RegisteredMemory to, long offset, int bytes, RegisteredMemory from, long fromOffset) {
        SendWorkRequest request = request(WorkOpcode.RDMA_READ, to, offset, bytes);
        request.remote(from.address() + fromOffset, from.region().rkey());
        return post(request);
    }

    long post(SendWorkRequest request) {
        queuePair.postSend(request);
        return request.id();
    }

    ReceiveWorkRequest receiveRequest(RegisteredMemory to, long offset, int bytes) {
        ReceiveWorkRequest request = new ReceiveWorkRequest(MAX_SGE);
        request.id(nextId++);
        request.setSge(to.region(), offset, bytes);
        return request;
    }

    long receive(RegisteredMemory to, long offset, int bytes) {
        ReceiveWorkRequest request = receiveRequest(to, offset, bytes);
        queuePair.postReceive(request);
        return request.id();
    }

    /** Lets everything go, in an order that is allowed. */
    void close() {
        if (connection != null) {
            connection.close();
        }
        queuePair.close();
        sendQueue.close();
        receiveQueue.close();
        node.endpoints.remove(this);
    }

    @Override
    public void onEstablished(Connection established, ConnectionParameters parameters) {
        note("established", established);
        peer = parameters;
    }

    @Override
    public void onRejected(Connection rejected, int reason, byte[] privateData) {
        note("rejected", rejected);
        rejectReason = reason;
        rejectData = privateData;
    }

    @Override
    public void onFailed(Connection failed, VerbsException cause) {
        note("failed", failed);
        failure = Objects.requireNonNull(cause.getMessage());
    }

    @Override
    public void onDisconnected(Connection disconnected) {
        note("disconnected", disconnected);
    }

    private void note(String event, Connection of) {
        if (connection != null && connection != of) {
            throw new AssertionError(event + " tells of a connection that is not this endpoint's");
        }
        if (node.progressing != sendQueue.vector().index()) {
            throw new AssertionError(event + " does not come from its own vector's progress");
        }
        events.add(event);
    }

    @Override
    public String toString() {
        return "endpoint " + queuePair.number() + " in " + state() + ", events " + events + failure + ", sent "
                + last(sent) + ", received " + last(received);
    }

    private static String last(List<Completed> list) {
        return list.size()
                + (list.isEmpty()
                        ? ""
                        : " to " + list.getLast().id() + " " + list.getLast().status());
    }
}

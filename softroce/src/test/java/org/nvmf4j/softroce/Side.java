package org.nvmf4j.softroce;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.CompletionHandler;
import org.nvmf4j.verbs.CompletionQueue;
import org.nvmf4j.verbs.Connection;
import org.nvmf4j.verbs.ConnectionHandler;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.QueuePair;
import org.nvmf4j.verbs.QueuePairOptions;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkCompletion;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;

/** One queue pair of a device, with memory, and what happened to it. */
final class Side implements ConnectionHandler, CompletionHandler {
    static final ConnectionParameters PARAMETERS = new ConnectionParameters(new byte[0], 16, 16, 7, 7);
    private static final int DEPTH = 64;

    final Device device;
    final int vector;
    final MemorySegment memory;
    final MemoryRegion region;
    final CompletionQueue completions;
    final QueuePair queuePair;
    final List<String> events = new ArrayList<>();
    final List<WorkCompletionStatus> sent = new ArrayList<>();
    int received;
    int rejectReason;
    String failure = "";

    @Nullable
    Connection connection;

    Side(Device device, int vector, Arena arena, int memoryBytes) throws VerbsException {
        this.device = device;
        this.vector = vector;
        ProtectionDomain domain = device.allocateProtectionDomain();
        memory = arena.allocate(memoryBytes, 64);
        region = domain.register(memory, EnumSet.complementOf(EnumSet.of(AccessFlag.ON_DEMAND)));
        completions = device.createCompletionQueue(4 * DEPTH, vector);
        queuePair = device.createQueuePair(
                domain, new QueuePairOptions(completions, completions, DEPTH, DEPTH, 4, 64, null));
    }

    void receive(long offset, int bytes) {
        ReceiveWorkRequest request = new ReceiveWorkRequest(1);
        request.setSge(region, offset, bytes);
        queuePair.postReceive(request);
    }

    void send(long offset, int bytes) {
        post(WorkOpcode.SEND, offset, bytes, 0, 0);
    }

    void write(long offset, int bytes, Side to, long toOffset) {
        post(WorkOpcode.RDMA_WRITE, offset, bytes, to.region.address() + toOffset, to.region.rkey());
    }

    void read(long offset, int bytes, Side from, long fromOffset) {
        post(WorkOpcode.RDMA_READ, offset, bytes, from.region.address() + fromOffset, from.region.rkey());
    }

    private void post(WorkOpcode opcode, long offset, int bytes, long remoteAddress, int rkey) {
        SendWorkRequest request = new SendWorkRequest(1);
        request.opcode(opcode);
        request.setSge(region, offset, bytes);
        request.remote(remoteAddress, rkey);
        queuePair.postSend(request);
    }

    /** One turn; 0 if there was nothing to do. */
    int turn() {
        return device.vector(vector).progress() + completions.poll(Integer.MAX_VALUE, this);
    }

    long counter(Counter counter) {
        return device.counters().getOrDefault(counter.label(), -1L);
    }

    @Override
    public void onCompletion(WorkCompletion completion) {
        if (completion.opcode() == WorkOpcode.RECEIVE) {
            received += completion.isSuccess() ? 1 : 0;
        } else {
            sent.add(completion.status());
        }
    }

    @Override
    public void onEstablished(Connection established, ConnectionParameters peer) {
        events.add("established");
    }

    @Override
    public void onRejected(Connection rejected, int reason, byte[] privateData) {
        events.add("rejected");
        rejectReason = reason;
    }

    @Override
    public void onFailed(Connection failed, VerbsException cause) {
        events.add("failed");
        failure = String.valueOf(cause.getMessage());
    }

    @Override
    public void onDisconnected(Connection disconnected) {
        events.add("disconnected");
    }
}

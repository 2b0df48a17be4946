package org.nvmf4j.host;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.CompletionQueueEntry;
import org.nvmf4j.nvme.RdmaPrivateData;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.Agent;
import org.nvmf4j.verbs.CompletionQueue;
import org.nvmf4j.verbs.Connection;
import org.nvmf4j.verbs.ConnectionHandler;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.ConnectionRequest;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.Lane;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.QueuePair;
import org.nvmf4j.verbs.QueuePairOptions;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkCompletion;
import org.nvmf4j.verbs.WorkOpcode;

/** One queue of a {@link FakeTarget}: takes capsules, moves data, sends whatever response it is told to. On the target's lane. */
final class FakeQueue implements ConnectionHandler, Agent {
    private static final int MAX_CAPSULE_BYTES = 64 + 16_384;
    private static final int MAX_SENDS = 4_096;
    private static final int RESPONSE_BYTES = 32;

    final RdmaPrivateData.Request request;
    private final Lane lane;
    private final ProtectionDomain domain;
    private final Consumer<FakeQueue.FakeCommand> onCommand;
    private final CompletionQueue completions;
    private final QueuePair queuePair;
    private final MemoryRegion capsules;
    private final MemoryRegion responses;
    private final SendWorkRequest response = new SendWorkRequest(1);
    private final Map<Long, Runnable> onDone = new HashMap<>();
    private long nextId;
    private int sqHead;
    private boolean gone;
    private @Nullable Connection connection;

    FakeQueue(
            Device device,
            Lane lane,
            ProtectionDomain domain,
            ConnectionRequest asked,
            RdmaPrivateData.Request request,
            Consumer<FakeQueue.FakeCommand> onCommand)
            throws VerbsException {
        this.request = request;
        this.lane = lane;
        this.domain = domain;
        this.onCommand = onCommand;
        int receives = request.hsqsizeZeroBased() + 1;
        completions = device.createCompletionQueue(MAX_SENDS + receives, 0);
        queuePair = device.createQueuePair(
                domain, new QueuePairOptions(completions, completions, MAX_SENDS, receives, 1, 16, null));
        capsules = domain.register(
                Arena.ofAuto().allocate((long) receives * MAX_CAPSULE_BYTES), EnumSet.of(AccessFlag.LOCAL_WRITE));
        responses = domain.register(
                Arena.ofAuto().allocate((long) MAX_SENDS * RESPONSE_BYTES), EnumSet.noneOf(AccessFlag.class));
        for (int i = 0; i < receives; i++) {
            postReceive(i);
        }
        lane.add(this);
        connection = asked.accept(
                queuePair, new ConnectionParameters(new RdmaPrivateData.Accept(receives).toBytes(), 0, 16, 7, 7), this);
    }

    private void postReceive(int index) {
        ReceiveWorkRequest receive = new ReceiveWorkRequest(1);
        receive.id(index);
        receive.setSge(capsules, (long) index * MAX_CAPSULE_BYTES, MAX_CAPSULE_BYTES);
        queuePair.postReceive(receive);
    }

    int id() {
        return request.qid();
    }

    @Override
    public int doWork(long nowNanos) {
        return gone ? 0 : completions.poll(64, this::onCompletion);
    }

    private void onCompletion(WorkCompletion completion) {
        if (!completion.isSuccess()) {
            return;
        }
        if (completion.opcode() != WorkOpcode.RECEIVE) {
            Runnable done = onDone.remove(completion.id());
            if (done != null) {
                done.run();
            }
            return;
        }
        int index = (int) completion.id();
        byte[] capsule = capsules.segment()
                .asSlice((long) index * MAX_CAPSULE_BYTES, completion.lengthBytes())
                .toArray(ValueLayout.JAVA_BYTE);
        postReceive(index);
        sqHead = (sqHead + 1) % (request.hsqsizeZeroBased() + 1);
        onCommand.accept(new FakeQueue.FakeCommand(this, capsule));
    }

    /** Sends a response capsule of any bytes. */
    void sendRaw(byte[] bytes) {
        long at = responseOffset();
        MemorySegment.copy(bytes, 0, responses.segment(), ValueLayout.JAVA_BYTE, at, bytes.length);
        postResponse(at, bytes.length);
    }

    void respond(int commandId, int status, long result) {
        long at = responseOffset();
        CompletionQueueEntry.write(responses.segment(), at, result, sqHead, id(), commandId, status);
        postResponse(at, CompletionQueueEntry.SIZE_BYTES);
    }

    private long responseOffset() {
        return nextId % MAX_SENDS * RESPONSE_BYTES;
    }

    private void postResponse(long at, int length) {
        if (!gone) {
            response.id(nextId++);
            response.setSge(responses, at, length);
            queuePair.postSend(response);
        }
    }

    /** Writes to the host's memory; what is sent later arrives later. */
    void write(MemorySegment data, long remoteAddress, int rkey) {
        MemorySegment memory = Arena.ofAuto().allocate(data.byteSize());
        memory.copyFrom(data);
        post(WorkOpcode.RDMA_WRITE, memory, (int) data.byteSize(), remoteAddress, rkey, () -> {});
    }

    /** Reads from the host's memory. */
    void read(int lengthBytes, long remoteAddress, int rkey, Consumer<MemorySegment> onData) {
        MemorySegment memory = Arena.ofAuto().allocate(lengthBytes);
        post(WorkOpcode.RDMA_READ, memory, lengthBytes, remoteAddress, rkey, () -> onData.accept(memory));
    }

    private void post(
            WorkOpcode opcode, MemorySegment memory, int length, long remoteAddress, int rkey, Runnable done) {
        if (gone) {
            return;
        }
        MemoryRegion region;
        try {
            region = domain.register(memory, EnumSet.of(AccessFlag.LOCAL_WRITE));
        } catch (VerbsException e) {
            throw new AssertionError(e);
        }
        SendWorkRequest send = new SendWorkRequest(1);
        send.id(nextId++);
        send.opcode(opcode);
        send.remote(remoteAddress, rkey);
        send.setSge(region, 0, length);
        onDone.put(send.id(), () -> {
            region.close();
            done.run();
        });
        queuePair.postSend(send);
    }

    /** Ends the connection from this side. */
    void disconnect() {
        if (connection != null && !gone) {
            connection.disconnect();
        }
    }

    /** Stops dead: no message, no acknowledgement, nothing. */
    void vanish() {
        gone = true;
    }

    @Override
    public void onEstablished(Connection established, ConnectionParameters peer) {
        connection = established;
    }

    @Override
    public void onRejected(Connection rejected, int reason, byte[] privateData) {
        free();
    }

    @Override
    public void onFailed(Connection failed, VerbsException cause) {
        free();
    }

    @Override
    public void onDisconnected(Connection lost) {
        free();
    }

    private void free() {
        gone = true;
        lane.remove(this);
        queuePair.close();
        completions.close();
        capsules.close();
        responses.close();
    }

    /** A capsule that has arrived. */
    static final class FakeCommand {
        final FakeQueue queue;
        final MemorySegment entry;
        final MemorySegment inCapsuleData;

        FakeCommand(FakeQueue queue, byte[] capsule) {
            this.queue = queue;
            MemorySegment all = MemorySegment.ofArray(capsule);
            this.entry = all.asSlice(0, SubmissionQueueEntry.SIZE_BYTES);
            this.inCapsuleData = all.asSlice(SubmissionQueueEntry.SIZE_BYTES);
        }

        int opcode() {
            return SubmissionQueueEntry.opcode(entry, 0);
        }

        int commandId() {
            return SubmissionQueueEntry.commandId(entry, 0);
        }

        boolean isIo() {
            return queue.id() > 0 && opcode() != 0x7f;
        }

        void complete(int status) {
            queue.respond(commandId(), status, 0);
        }

        void complete(int status, long result) {
            queue.respond(commandId(), status, result);
        }
    }
}

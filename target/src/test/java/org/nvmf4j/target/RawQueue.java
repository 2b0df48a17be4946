package org.nvmf4j.target;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.CompletionQueueEntry;
import org.nvmf4j.nvme.SglDescriptor;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.CompletionQueue;
import org.nvmf4j.verbs.Connection;
import org.nvmf4j.verbs.ConnectionHandler;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.QueuePair;
import org.nvmf4j.verbs.QueuePairOptions;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkCompletion;

/** A host's end of one queue without any sense: sends the capsules it is given, and keeps what comes back. */
final class RawQueue implements ConnectionHandler {
    static final int RESPONSE_BYTES = CompletionQueueEntry.SIZE_BYTES;
    private static final int CAPSULE_BYTES = SubmissionQueueEntry.SIZE_BYTES + 32768;
    static final int DATA_BYTES = 2 << 20;

    /** What a completion said. */
    record Answer(int commandId, int status, long result, int sqHead, int sqId, int invalidatedRkey) {}

    private final RawHost host;
    private final Arena arena = Arena.ofShared();
    private final CompletionQueue completions;
    private final QueuePair queuePair;
    private final MemoryRegion capsules;
    private final MemoryRegion responses;
    final MemoryRegion data;
    private final int size;
    /** As in the private data. */
    final int qid;

    private final Map<Integer, Answer> answers = new LinkedHashMap<>();
    private final SendWorkRequest send = new SendWorkRequest(2);
    private final ReceiveWorkRequest receive = new ReceiveWorkRequest(1);
    private int nextCapsule;
    private int sent;
    private int nextCommandId = 1;

    final Connection connection;
    boolean established;
    boolean ended;
    int rejectReason;
    byte[] rejectData = new byte[0];

    @Nullable
    String failure;

    boolean broken;
    int answerCount;

    /** Connects; what comes of it is seen in the fields while the lanes run. */
    RawQueue(RawHost host, InetSocketAddress target, int size, byte[] privateData, int responderResources)
            throws VerbsException {
        this.host = host;
        this.size = size;
        this.qid = privateData.length > 2 ? privateData[2] : 0;
        capsules = register((long) size * CAPSULE_BYTES, EnumSet.of(AccessFlag.LOCAL_WRITE));
        responses = register((long) size * RESPONSE_BYTES, EnumSet.of(AccessFlag.LOCAL_WRITE));
        data = register(
                DATA_BYTES, EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE));
        completions = host.device().createCompletionQueue(4 * size, 0);
        queuePair = host.device()
                .createQueuePair(
                        host.domain(), new QueuePairOptions(completions, completions, size, size, 2, 64, this));
        for (int i = 0; i < size; i++) {
            postReceive(i);
        }
        connection = host.device()
                .connect(queuePair, target, new ConnectionParameters(privateData, responderResources, 0, 7, 7), this);
        host.add(this);
    }

    private MemoryRegion register(long bytes, EnumSet<AccessFlag> access) throws VerbsException {
        return host.domain().register(arena.allocate(bytes, 4096), access);
    }

    private void postReceive(int slot) {
        receive.id(slot);
        receive.setSge(responses, (long) slot * RESPONSE_BYTES, RESPONSE_BYTES);
        queuePair.postReceive(receive);
    }

    /** Where the next capsule is to be written, of which {@link #send} sends the given bytes. */
    long capsule() {
        return (long) (nextCapsule % size) * CAPSULE_BYTES;
    }

    MemorySegment memory() {
        return capsules.segment();
    }

    int nextCommandId() {
        return nextCommandId++ & 0xffff;
    }

    /** Describes data in the host's memory by the capsule's SGL. */
    void keyed(long dataOffset, int length, boolean invalidate) {
        SglDescriptor.writeKeyed(
                memory(),
                capsule() + SubmissionQueueEntry.DPTR_OFFSET,
                data.address() + dataOffset,
                length,
                data.rkey(),
                invalidate);
    }

    /** Puts data behind the command and describes it by the capsule's SGL; returns the capsule's length. */
    int inCapsule(byte[] bytes) {
        MemorySegment.copy(
                MemorySegment.ofArray(bytes), 0, memory(), capsule() + SubmissionQueueEntry.SIZE_BYTES, bytes.length);
        SglDescriptor.writeInCapsule(memory(), capsule() + SubmissionQueueEntry.DPTR_OFFSET, 0, bytes.length);
        return SubmissionQueueEntry.SIZE_BYTES + bytes.length;
    }

    /** Sends the capsule. */
    void send(int bytes) {
        send.setSge(capsules, capsule(), bytes);
        send.id(-1);
        nextCapsule++;
        sent++;
        queuePair.postSend(send);
    }

    void send() {
        send(SubmissionQueueEntry.SIZE_BYTES);
    }

    /** Whether the host may send another command: one less than entries at a time. */
    boolean hasRoom() {
        return sent - answerCount < size - 1;
    }

    /** Takes in what has arrived; called by the host in its cycle. */
    int poll() {
        return completions.poll(64, this::onCompletion);
    }

    private void onCompletion(WorkCompletion completion) {
        if (!completion.isSuccess()) {
            broken = true;
            return;
        }
        if (completion.id() < 0) {
            return;
        }
        long at = completion.id() * RESPONSE_BYTES;
        Answer answer = new Answer(
                CompletionQueueEntry.commandId(responses.segment(), at),
                CompletionQueueEntry.status(responses.segment(), at),
                CompletionQueueEntry.result(responses.segment(), at),
                CompletionQueueEntry.sqHead(responses.segment(), at),
                CompletionQueueEntry.sqId(responses.segment(), at),
                completion.invalidatedRkey());
        if (completion.lengthBytes() != RESPONSE_BYTES || answers.put(answer.commandId, answer) != null) {
            throw new AssertionError("a second or broken response: " + answer);
        }
        answerCount++;
        if (completion.invalidatedRkey() == data.rkey() || data.rkey() == 0) {
            data.renewRkey();
        }
        postReceive((int) completion.id());
    }

    /** The response to a command, if it is there; each is given once. */
    @Nullable
    Answer take(int commandId) {
        return answers.remove(commandId);
    }

    /** Runs the lanes until the response to a command is there. */
    Answer await(int commandId) {
        host.pumpUntil("response to command " + commandId, () -> answers.containsKey(commandId) || broken);
        Answer answer = take(commandId);
        if (answer == null) {
            throw new AssertionError("the queue broke before the response to command " + commandId);
        }
        return answer;
    }

    void forgetAnswers() {
        answers.clear();
    }

    boolean isAnswered(int commandId) {
        return answers.containsKey(commandId);
    }

    @Override
    public void onEstablished(Connection connection, ConnectionParameters peer) {
        established = true;
    }

    @Override
    public void onRejected(Connection connection, int reason, byte[] privateData) {
        rejectReason = reason;
        rejectData = privateData;
        ended = true;
    }

    @Override
    public void onFailed(Connection connection, VerbsException cause) {
        failure = cause.getMessage();
        ended = true;
    }

    @Override
    public void onDisconnected(Connection connection) {
        ended = true;
    }

    /** Disconnects and waits for the end. */
    void disconnect() {
        connection.disconnect();
        host.pumpUntil("end of the connection", () -> ended);
    }

    /** Vanishes without a word, as a process that is killed. */
    void vanish() {
        queuePair.toError();
    }

    QueuePair queuePair() {
        return queuePair;
    }

    void close() {
        connection.close();
        queuePair.close();
        completions.close();
        capsules.close();
        responses.close();
        data.close();
        arena.close();
    }
}

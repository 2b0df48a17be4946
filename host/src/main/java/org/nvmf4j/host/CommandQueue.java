package org.nvmf4j.host;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.CompletionQueueEntry;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.RdmaPrivateData;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.Agent;
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

/**
 * One NVMe submission and completion queue pair over one RDMA queue pair: command slots, capsules, responses, time limits, and an end
 * at which each command ends once. What the commands mean is its {@link Listener}'s business. Lives on one lane; allocates nothing
 * per command.
 *
 * <p>Capsules are a ring in the order of their SENDs, apart from the command slots: a response frees its slot at once, while the
 * capsule may be sent again until its SEND, or a later one, has completed. Only every few SENDs ask for a completion, and those that
 * gather the user's memory, whose commands end only when both response and SEND are done.
 */
final class CommandQueue implements CompletionHandler, ConnectionHandler {
    /** Hears of the queue, on its lane. */
    interface Listener {
        /** The connection is there; commands may be begun. */
        void onConnected();

        /** A command ended with its response; its slot is free again already, so the listener may begin the next in it. */
        void onCommandCompleted(int slot, long result, int status);

        /** A command ends without response, because the queue does: its memory is not touched any more. */
        void onCommandLost(int slot, HostException cause);

        /** Nothing is outstanding and everything is freed; comes once. The cause is null after a {@link #disconnect}. */
        void onClosed(@Nullable HostException cause);
    }

    private enum State {
        CONNECTING,
        CONNECTED,
        DISCONNECTING,
        CLOSED
    }

    static final int SQE_BYTES = SubmissionQueueEntry.SIZE_BYTES;
    private static final int CQE_BYTES = CompletionQueueEntry.SIZE_BYTES;
    private static final int SLOT_BITS = 10;
    private static final int SLOT_MASK = (1 << SLOT_BITS) - 1;
    private static final int MAX_SIGNAL_INTERVAL = 32;
    private static final int FREE = 0;
    private static final int RESPONSE_DUE = 1;
    private static final int SEND_DUE = 2;
    /** Time limits are kept in eighths: coarse enough to cost nothing per command, fine enough for a limit of seconds. */
    private static final int EPOCHS_PER_TIMEOUT = 8;

    private static final int NO_TIMEOUT = -1;
    private static final int NO_SLOT = -1;
    /** READs that the target may have outstanding, at most what a REQ can say. */
    private static final int MAX_READS = 255;

    private static final int TRANSPORT_RETRIES = 7;
    /** For ever: a target posts a receive for each command that the queue may hold. */
    private static final int RNR_RETRIES = 7;

    private static final long DISCONNECT_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final QueueLabel label;
    private final Listener listener;
    private final int slots;
    private final long timeoutNanos;
    private final long connectTimeoutNanos;

    private final MemorySegment slab;
    private final long responsesOffset;
    private final int responses;
    private final int capsules;
    private final int signalInterval;
    /** The slot that waits for this capsule's SEND to complete, or NO_SLOT. */
    private final int[] capsuleSlot;

    private final byte[] slotState;
    private final byte[] slotGeneration;
    private final int[] slotEpoch;
    private final long[] slotResult;
    private final int[] slotStatus;
    private final int[] freeSlots;
    private int freeCount;

    private final SendWorkRequest send = new SendWorkRequest(2);
    private final ReceiveWorkRequest receive = new ReceiveWorkRequest(1);
    private @Nullable CompletionQueue completions;
    private @Nullable QueuePair queuePair;
    private @Nullable MemoryRegion region;
    private @Nullable Connection connection;

    private State state = State.CONNECTING;
    private @Nullable HostException failure;
    private boolean flushed;
    private boolean disconnected;
    private boolean polled;
    private final AtomicLong completedCommands = new AtomicLong();
    private long sent;
    private long sendsCompleted;
    private int epoch;
    private long epochStartNanos;
    private long deadlineNanos = Agent.NO_DEADLINE;

    /**
     * Creates the queue's resources; {@link #connect} follows.
     *
     * @param queueSize entries, 2 to 1024; one less is the most commands outstanding
     */
    CommandQueue(QueueLabel label, int queueSize, long timeoutNanos, long connectTimeoutNanos, Listener listener) {
        this.label = label;
        this.listener = listener;
        this.slots = queueSize - 1;
        this.timeoutNanos = timeoutNanos;
        this.connectTimeoutNanos = connectTimeoutNanos;
        responses = queueSize;
        signalInterval = signalInterval(slots);
        capsules = capsules(queueSize);
        responsesOffset = (long) capsules * SQE_BYTES;
        slab = Arena.ofAuto().allocate(responsesOffset + (long) responses * CQE_BYTES, SQE_BYTES);
        capsuleSlot = new int[capsules];
        slotState = new byte[slots];
        slotGeneration = new byte[slots];
        slotEpoch = new int[slots];
        slotResult = new long[slots];
        slotStatus = new int[slots];
        freeSlots = new int[slots];
        for (int slot = slots - 1; slot >= 0; slot--) {
            freeSlots[freeCount++] = slot;
        }
    }

    /** One of so many SENDs asks for a completion: a power of two, so that a mask tells which. */
    private static int signalInterval(int slots) {
        return Integer.highestOneBit(Math.clamp(slots / 4, 1, MAX_SIGNAL_INTERVAL));
    }

    /** Capsules, and so send work requests, of a queue of that size. */
    static int capsules(int queueSize) {
        int needed = queueSize - 1 + signalInterval(queueSize - 1);
        return needed == 1 ? 1 : Integer.highestOneBit(needed - 1) << 1;
    }

    /** Makes the queue pair and begins to connect it; the outcome comes to the listener, also if it cannot even be tried. */
    void connect(QueueContext context, RdmaPrivateData.Request request) {
        Device device = context.device();
        ProtectionDomain domain = context.domain();
        ConnectionParameters parameters = new ConnectionParameters(
                request.toBytes(),
                Math.min(MAX_READS, device.attributes().maxReadRequests()),
                0,
                TRANSPORT_RETRIES,
                RNR_RETRIES);
        deadlineNanos = System.nanoTime() + connectTimeoutNanos;
        try {
            region = domain.register(slab, Set.of(AccessFlag.LOCAL_WRITE));
            completions = device.createCompletionQueue(
                    capsules + responses, context.lane().vector());
            QueuePair created = device.createQueuePair(
                    domain, new QueuePairOptions(completions, completions, capsules, responses, 2, SQE_BYTES, this));
            queuePair = created;
            for (int i = 0; i < responses; i++) {
                postReceive(created, region, i);
            }
            connection = device.connect(created, context.target(), parameters, this);
        } catch (VerbsException e) {
            fail(new TransportException(label + ": " + e.getMessage(), e));
        }
    }

    /** Whether {@link #begin} may be called. */
    boolean canBegin() {
        return freeCount > 0 && sent - sendsCompleted < capsules && state == State.CONNECTED && failure == null;
    }

    /** Takes a slot for a command, which is written at {@link #capsuleOffset} with its {@link #commandId} and then posted. */
    int begin() {
        int slot = freeSlots[--freeCount];
        slotState[slot] = RESPONSE_DUE;
        slotGeneration[slot]++;
        slotEpoch[slot] = epoch;
        return slot;
    }

    /** Exempts the command in a slot from the time limit. */
    void setNoTimeout(int slot) {
        slotEpoch[slot] = NO_TIMEOUT;
    }

    int commandId(int slot) {
        return slot | (slotGeneration[slot] & 0x3f) << SLOT_BITS;
    }

    /** Where the capsule of the command that was begun last is. */
    MemorySegment capsule() {
        return slab;
    }

    long capsuleOffset() {
        return (sent & capsules - 1) * SQE_BYTES;
    }

    /** Sends the capsule of a command that was begun: the entry alone. */
    void post() {
        addCapsule();
        post(NO_SLOT, (sent + 1 & signalInterval - 1) == 0);
    }

    /** Sends the capsule with in-capsule data, gathered from registered memory that is in use until the command ends. */
    void postWithData(int slot, MemorySegment data, long dataOffset, int lengthBytes, int lkey) {
        addCapsule();
        send.addSge(data, dataOffset, lengthBytes, lkey);
        slotState[slot] |= SEND_DUE;
        post(slot, true);
    }

    private void addCapsule() {
        send.clearSges();
        send.addSge(slab, capsuleOffset(), SQE_BYTES, lkey());
    }

    private void post(int waitingSlot, boolean signaled) {
        capsuleSlot[(int) sent & capsules - 1] = waitingSlot;
        send.id(sent++);
        send.signaled(signaled);
        if (queuePair != null) {
            queuePair.postSend(send);
        }
    }

    private int lkey() {
        return region == null ? 0 : region.lkey();
    }

    private void postReceive(QueuePair pair, MemoryRegion memory, int index) {
        receive.id(~index);
        receive.clearSges();
        receive.addSge(slab, responsesOffset + (long) index * CQE_BYTES, CQE_BYTES, memory.lkey());
        pair.postReceive(receive);
    }

    /** Takes in what has completed and, if the queue is at its end, ends it. Not from within a callback. */
    int poll() {
        CompletionQueue queue = completions;
        int work = 0;
        polled = true;
        if (queue != null && state != State.CLOSED) {
            work = queue.poll(Integer.MAX_VALUE, this);
        }
        if (flushed && failure == null && state != State.DISCONNECTING) {
            fail(new TransportException(
                    label + ": the connection is gone: " + WorkCompletionStatus.WORK_REQUEST_FLUSHED.words()));
        }
        if (state != State.CLOSED && (failure != null || disconnected)) {
            tearDown();
            work++;
        }
        return work;
    }

    @Override
    public void onCompletion(WorkCompletion completion) {
        if (failure != null) {
            return;
        }
        long id = completion.id();
        if (!completion.isSuccess()) {
            onError(completion);
        } else if (id < 0) {
            onResponse((int) ~id, completion.lengthBytes());
        } else {
            onSent(id);
        }
    }

    private void onResponse(int index, int lengthBytes) {
        long at = responsesOffset + (long) index * CQE_BYTES;
        if (lengthBytes < CQE_BYTES) {
            fail(new TransportException(
                    label + ": the target sent a response of " + lengthBytes + " bytes instead of " + CQE_BYTES));
            return;
        }
        int commandId = CompletionQueueEntry.commandId(slab, at);
        int slot = commandId & SLOT_MASK;
        if (slot >= slots || (slotState[slot] & RESPONSE_DUE) == 0 || commandId(slot) != commandId) {
            fail(new TransportException(label + ": the target completed a command that is not outstanding, command "
                    + QueueLabel.hex(commandId)));
            return;
        }
        long result = CompletionQueueEntry.result(slab, at);
        int status = CompletionQueueEntry.status(slab, at);
        if (queuePair != null && region != null) {
            postReceive(queuePair, region, index);
        }
        if ((slotState[slot] & SEND_DUE) != 0) {
            slotState[slot] &= ~RESPONSE_DUE;
            slotResult[slot] = result;
            slotStatus[slot] = status;
        } else {
            complete(slot, result, status);
        }
    }

    private void onSent(long last) {
        while (sendsCompleted <= last) {
            int slot = capsuleSlot[(int) sendsCompleted & capsules - 1];
            sendsCompleted++;
            if (slot != NO_SLOT) {
                slotState[slot] &= ~SEND_DUE;
                if (slotState[slot] == FREE) {
                    complete(slot, slotResult[slot], slotStatus[slot]);
                }
            }
        }
    }

    private void complete(int slot, long result, int status) {
        slotState[slot] = FREE;
        freeSlots[freeCount++] = slot;
        completedCommands.setOpaque(completedCommands.getPlain() + 1);
        listener.onCommandCompleted(slot, result, status);
    }

    private void onError(WorkCompletion completion) {
        WorkCompletionStatus status = completion.status();
        if (status == WorkCompletionStatus.WORK_REQUEST_FLUSHED) {
            flushed = true; // the cause is in another completion or an event, which may still come
            return;
        }
        StringBuilder line = new StringBuilder().append(label).append(": ");
        if (completion.id() < 0) {
            line.append(WorkOpcode.RECEIVE);
        } else {
            long at = (completion.id() & capsules - 1) * SQE_BYTES;
            int opcode = SubmissionQueueEntry.opcode(slab, at);
            line.append("SEND of ")
                    .append(label.isAdmin() ? AdminOpcode.name(opcode) : IoOpcode.name(opcode))
                    .append(", command ")
                    .append(QueueLabel.hex(SubmissionQueueEntry.commandId(slab, at)));
        }
        line.append(": ").append(status.words());
        if (completion.vendorError() != 0) {
            line.append(" (vendor error ").append(completion.vendorError()).append(')');
        }
        fail(new TransportException(line.toString()));
    }

    /** Watches time limits; called in every cycle of the lane. */
    void tick(long nowNanos) {
        if (state == State.CLOSED) {
            return;
        }
        if (deadlineNanos != Agent.NO_DEADLINE && nowNanos - deadlineNanos >= 0) {
            deadlineNanos = Agent.NO_DEADLINE;
            if (state == State.DISCONNECTING) {
                disconnected = true;
            } else {
                fail(new TransportException(label + ": no connection within "
                        + TimeUnit.NANOSECONDS.toMillis(connectTimeoutNanos) + " ms"));
            }
        }
        if (polled && nowNanos - epochStartNanos >= timeoutNanos / EPOCHS_PER_TIMEOUT) {
            // Never catches up, nor counts while nobody polls: an owner that was away for a while gives no command less
            // time.
            polled = false;
            epochStartNanos = nowNanos;
            epoch = epoch + 1 & Integer.MAX_VALUE;
            failOverdueCommand();
        }
    }

    private void failOverdueCommand() {
        for (int slot = 0; slot < slots; slot++) {
            if (slotState[slot] != FREE
                    && slotEpoch[slot] != NO_TIMEOUT
                    && (epoch - slotEpoch[slot] & Integer.MAX_VALUE) > EPOCHS_PER_TIMEOUT) {
                fail(new TransportException(label + ": no answer to command " + QueueLabel.hex(commandId(slot))
                        + " within " + TimeUnit.NANOSECONDS.toMillis(timeoutNanos) + " ms"));
                return;
            }
        }
    }

    /** When {@link #tick} is wanted. */
    long nextDeadlineNanos() {
        if (state == State.CLOSED) {
            return Agent.NO_DEADLINE;
        }
        long next = deadlineNanos;
        if (freeCount < slots) {
            long epochEnd = epochStartNanos + timeoutNanos / EPOCHS_PER_TIMEOUT;
            next = next == Agent.NO_DEADLINE || epochEnd - next < 0 ? epochEnd : next;
        }
        return next;
    }

    /** Ends the queue with a cause, the first of which counts; takes effect in {@link #poll}. */
    void fail(HostException cause) {
        if (failure == null && state != State.CLOSED) {
            failure = cause;
        }
    }

    /** Ends the queue in good order: tells the peer and waits a little for its answer. Does nothing if it is at its end already. */
    void disconnect() {
        if (state == State.DISCONNECTING || state == State.CLOSED || failure != null) {
            return;
        }
        if (state == State.CONNECTED && connection != null) {
            state = State.DISCONNECTING;
            deadlineNanos = System.nanoTime() + DISCONNECT_TIMEOUT_NANOS;
            connection.disconnect();
        } else {
            disconnected = true;
        }
    }

    private void tearDown() {
        // First the device lets go of all memory, then requests end.
        if (connection != null) {
            connection.close();
        }
        if (queuePair != null) {
            queuePair.close();
        }
        if (completions != null) {
            completions.close();
        }
        if (region != null) {
            region.close();
        }
        state = State.CLOSED;
        HostException cause = endCause();
        for (int slot = 0; slot < slots; slot++) {
            if (slotState[slot] != FREE) {
                slotState[slot] = FREE;
                freeSlots[freeCount++] = slot;
                listener.onCommandLost(slot, cause);
            }
        }
        assert freeCount == slots : "a command slot was lost";
        listener.onClosed(failure);
    }

    @Override
    public void onEstablished(Connection established, ConnectionParameters peer) {
        if (state == State.CONNECTING && failure == null && !disconnected) {
            deadlineNanos = Agent.NO_DEADLINE;
            state = State.CONNECTED;
            listener.onConnected();
        }
    }

    @Override
    public void onRejected(Connection rejected, int reason, byte[] privateData) {
        fail(ConnectionRefusedException.of(label.toString(), reason, privateData));
    }

    @Override
    public void onFailed(Connection failed, VerbsException cause) {
        fail(new TransportException(label + ": " + cause.getMessage(), cause));
    }

    @Override
    public void onDisconnected(Connection lost) {
        if (state == State.DISCONNECTING) {
            disconnected = true;
        } else {
            fail(new TransportException(label + ": the target closed the connection"));
        }
    }

    boolean isConnected() {
        return state == State.CONNECTED && failure == null;
    }

    boolean isClosed() {
        return state == State.CLOSED;
    }

    /** Why the queue ended or cannot take a command. */
    HostException endCause() {
        return failure != null ? failure : new TransportException(label + ": the queue was closed");
    }

    int slots() {
        return slots;
    }

    /** Commands that the target has answered; from any thread, maybe a moment late. */
    long completedCommands() {
        return completedCommands.getOpaque();
    }

    /** Commands outstanding. */
    int inFlight() {
        return slots - freeCount;
    }

    QueueLabel label() {
        return label;
    }
}

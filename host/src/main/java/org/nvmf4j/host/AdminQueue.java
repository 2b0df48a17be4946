package org.nvmf4j.host;

import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.RdmaPrivateData;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.verbs.Agent;

/**
 * The admin queue of one association: control commands from any thread, in order of arrival, each ended once. Keep Alive and the
 * Asynchronous Event Request have slots of their own, so that neither waits behind others.
 */
final class AdminQueue implements CommandQueue.Listener, Agent {
    /** Entries; what Linux targets take at most for queue 0. */
    static final int SIZE = 32;

    private static final int RESERVED_SLOTS = 2;

    private final QueueContext context;
    private final CommandQueue queue;
    private final Consumer<HostException> onLost;
    private final CompletableFuture<Void> connected = new CompletableFuture<>();
    private final CompletableFuture<Void> closed = new CompletableFuture<>();
    private final @Nullable ControlCommand[] bySlot;
    private final ArrayDeque<ControlCommand> waiting = new ArrayDeque<>();
    private final ArrayDeque<ControlCommand> urgent = new ArrayDeque<>();

    /**
     * Does nothing yet.
     *
     * @param onLost told once, on the lane, if the queue ends without {@link #disconnect}
     */
    AdminQueue(QueueContext context, QueueLabel label, Consumer<HostException> onLost) {
        this.context = context;
        this.onLost = onLost;
        queue = new CommandQueue(label, SIZE, context.commandTimeoutNanos(), context.connectTimeoutNanos(), this);
        bySlot = new @Nullable ControlCommand[queue.slots()];
    }

    /** Connects the transport; the Connect command is the caller's. From any thread. */
    CompletableFuture<Void> connect() {
        context.lane().execute(() -> {
            context.lane().lane().add(this);
            queue.connect(context, new RdmaPrivateData.Request(0, SIZE, SIZE - 1, 0));
        });
        return connected;
    }

    /** Executes a command; from any thread. The future ends exactly once. */
    CompletableFuture<AdminCompletion> submit(AdminCommand command) {
        ControlCommand control = new ControlCommand(command, true);
        if (!context.lane().executeIfOpen(() -> accept(control))) {
            control.lost(new TransportException(queue.label() + ": the host was closed"));
        }
        return control.future();
    }

    private void accept(ControlCommand control) {
        waiting.add(control);
        drain();
    }

    private void drain() {
        while (!urgent.isEmpty() && (queue.isClosed() || queue.canBegin())) {
            start(urgent.remove());
        }
        while (!waiting.isEmpty()
                && (queue.isClosed() || (queue.canBegin() && queue.inFlight() < queue.slots() - RESERVED_SLOTS))) {
            start(waiting.remove());
        }
    }

    private void start(ControlCommand control) {
        if (queue.isClosed()) {
            control.lost(queue.endCause());
            return;
        }
        int slot = control.start(queue, context.domain(), 0);
        if (slot >= 0) {
            bySlot[slot] = control;
        }
    }

    /** Sends Keep Alive ahead of everything else; on the lane. */
    CompletableFuture<AdminCompletion> keepAlive() {
        return submitUrgent(AdminOpcode.KEEP_ALIVE, "Keep Alive", true);
    }

    /** Sends an Asynchronous Event Request, which has no time limit; on the lane. */
    CompletableFuture<AdminCompletion> asyncEventRequest() {
        return submitUrgent(AdminOpcode.ASYNCHRONOUS_EVENT_REQUEST, "Asynchronous Event Request", false);
    }

    private CompletableFuture<AdminCompletion> submitUrgent(int opcode, String name, boolean hasTimeLimit) {
        AdminCommand command = AdminCommand.withoutData(name);
        SubmissionQueueEntry.write(command.entry(), 0, opcode, 0, 0);
        ControlCommand control = new ControlCommand(command, hasTimeLimit);
        urgent.add(control);
        drain();
        return control.future();
    }

    /** Ends the queue with a cause; from any thread. */
    void fail(HostException cause) {
        context.lane().executeIfOpen(() -> queue.fail(cause));
    }

    /** Ends the queue in good order; from any thread. */
    CompletableFuture<Void> disconnect() {
        if (!context.lane().executeIfOpen(queue::disconnect)) {
            closed.complete(null);
        }
        return closed;
    }

    @Override
    public int doWork(long nowNanos) {
        queue.tick(nowNanos);
        int work = queue.poll();
        if (work > 0) {
            drain();
        }
        return work;
    }

    @Override
    public long nextDeadlineNanos() {
        return queue.nextDeadlineNanos();
    }

    @Override
    public void onConnected() {
        connected.complete(null);
    }

    @Override
    public void onCommandCompleted(int slot, long result, int status) {
        ControlCommand control = take(slot);
        if (control != null) {
            control.complete(result, status);
        }
    }

    @Override
    public void onCommandLost(int slot, HostException cause) {
        ControlCommand control = take(slot);
        if (control != null) {
            control.lost(cause);
        }
    }

    private @Nullable ControlCommand take(int slot) {
        ControlCommand control = bySlot[slot];
        bySlot[slot] = null;
        return control;
    }

    @Override
    public void onClosed(@Nullable HostException cause) {
        context.lane().lane().remove(this);
        drain();
        connected.completeExceptionally(queue.endCause());
        if (cause != null) {
            onLost.accept(cause);
        }
        closed.complete(null);
    }

    /** Completes on the lane when everything has ended. */
    CompletableFuture<Void> closed() {
        return closed;
    }

    /** Takes an agent out of this queue's lane; on the lane. */
    void removeFromLane(Agent agent) {
        context.lane().lane().remove(agent);
    }

    /** Commands that the target has answered; from any thread. */
    long completedCommands() {
        return queue.completedCommands();
    }
}

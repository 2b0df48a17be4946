package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.AsyncEvent;
import org.nvmf4j.nvme.Cns;
import org.nvmf4j.nvme.GetLogPageCommand;
import org.nvmf4j.nvme.IdentifyCommand;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.NvmeStatusException;
import org.nvmf4j.nvme.SubmissionQueueEntry;

/** A controller's admin queue: one command at a time, which is waited for, beside a request for an event. The control thread's. */
final class NvmeAdminQueue implements AutoCloseable {
    static final int ENTRIES = 32;
    static final int NO_EVENT = -1;

    private static final long TIMEOUT_NANOS = 10_000_000_000L;
    private static final NvmeQueue.Handler IGNORED = (slot, status, result) -> {};

    /** Looks whether the controller runs still. */
    interface Check {
        void run() throws NvmeDeviceException;
    }

    private final Pace pace;
    private final Check check;
    private final NvmeQueue queue;
    private final DmaMemory page;
    private int eventSlot = -1;
    private int event = NO_EVENT;
    private int awaited = -1;
    private int awaitedStatus;
    private int awaitedResult;

    /** @throws IOException if there is no memory */
    NvmeAdminQueue(NvmeRegisters registers, long cap, DmaAllocator dma, Pace pace, Check check) throws IOException {
        this.pace = pace;
        this.check = check;
        queue = new NvmeQueue(registers, cap, dma, 0, ENTRIES, false, null);
        try {
            page = dma.allocate(NvmeQueue.PAGE_BYTES);
        } catch (IOException e) {
            queue.close();
            throw e;
        }
    }

    /** The queue, to write commands to. */
    NvmeQueue queue() {
        return queue;
    }

    /** As new; the controller must have forgotten the queue. */
    void clear() {
        queue.clear();
        eventSlot = -1;
        event = NO_EVENT;
    }

    /**
     * Executes a command, which the writer puts into its place for a slot, and waits for it; returns dword 0 of its completion.
     *
     * @throws NvmeStatusException if it fails
     */
    int execute(String what, IntConsumer writer) throws IOException {
        int status = tryExecute(what, TIMEOUT_NANOS, writer);
        if (!NvmeStatus.isSuccess(status)) {
            throw NvmeStatusException.of(what, status, awaitedResult);
        }
        return awaitedResult;
    }

    /** Likewise; returns the status. */
    int tryExecute(String what, IntConsumer writer) throws NvmeDeviceException {
        return tryExecute(what, TIMEOUT_NANOS, writer);
    }

    int tryExecute(String what, long timeoutNanos, IntConsumer writer) throws NvmeDeviceException {
        checkAnswered();
        int slot = queue.take();
        if (slot < 0) {
            throw new NvmeDeviceException("no room for " + what + " in the admin queue");
        }
        writer.accept(slot);
        long deadline = pace.nanoTime() + timeoutNanos;
        queue.submit(slot, deadline);
        awaited = slot;
        queue.ring();
        try {
            while (awaited >= 0) {
                if (poll() > 0) {
                    continue;
                }
                check.run();
                if (pace.nanoTime() - deadline >= 0) {
                    throw new NvmeDeviceException("the controller does not answer " + what + " within "
                            + timeoutNanos / 1_000_000_000 + " s");
                }
                pace.pause();
            }
        } finally {
            awaited = -1; // the slot may be another's after a reset
        }
        return awaitedStatus;
    }

    /**
     * Looks whether a command was given up, which the controller may still answer into the page: until a reset no other can be executed.
     *
     * @throws NvmeDeviceException if so
     */
    void checkAnswered() throws NvmeDeviceException {
        if (queue.overdue(pace.nanoTime()) >= 0) {
            throw new NvmeDeviceException("the controller has yet to answer an admin command that was given up");
        }
    }

    /** Takes what has ended; returns how much. */
    int poll() throws NvmeDeviceException {
        return queue.poll(this::ended);
    }

    private void ended(int slot, int status, int result) {
        if (slot == awaited) {
            awaited = -1;
            awaitedStatus = status;
            awaitedResult = result;
        } else if (slot == eventSlot) {
            eventSlot = -1;
            if (NvmeStatus.isSuccess(status)) {
                event = result;
            }
        }
    }

    /** Ends every command; the controller must not touch memory any more. */
    void endAll(int status) {
        queue.endAll(status, IGNORED);
    }

    // Identify.

    /** Identifies something; the answer is good until the next command. */
    MemorySegment identify(int nsid, int cns) throws IOException {
        execute("Identify", identifies(nsid, cns));
        return page.segment();
    }

    /** Likewise; null if the controller refuses. */
    @Nullable
    MemorySegment tryIdentify(int nsid, int cns) throws NvmeDeviceException {
        return NvmeStatus.isSuccess(tryExecute("Identify", identifies(nsid, cns))) ? page.segment() : null;
    }

    private IntConsumer identifies(int nsid, int cns) {
        page.segment().fill((byte) 0);
        return slot -> {
            IdentifyCommand.write(queue.commands(), queue.commandAt(), slot, nsid, cns, Cns.CSI_NVM);
            queue.data(slot, page.busAddress(), NvmeQueue.PAGE_BYTES);
        };
    }

    // Events.

    /** Requests the next event, unless one is requested. */
    void requestEvent() {
        int slot = eventSlot < 0 ? queue.take() : -1;
        if (slot >= 0) {
            SubmissionQueueEntry.write(
                    queue.commands(), queue.commandAt(), AdminOpcode.ASYNCHRONOUS_EVENT_REQUEST, slot, 0);
            queue.submit(slot, Long.MAX_VALUE);
            queue.ring();
            eventSlot = slot;
        }
    }

    /** An event that has come, or {@link #NO_EVENT}. */
    int takeEvent() {
        int taken = event;
        event = NO_EVENT;
        return taken;
    }

    /** Has the like of an event come again: that takes reading its log page. */
    void acknowledge(int taken) throws NvmeDeviceException {
        int _ = tryExecute("Get Log Page", slot -> {
            GetLogPageCommand.write(
                    queue.commands(),
                    queue.commandAt(),
                    slot,
                    SubmissionQueueEntry.NSID_ALL,
                    AsyncEvent.logPage(taken),
                    false,
                    0,
                    NvmeQueue.PAGE_BYTES);
            queue.data(slot, page.busAddress(), NvmeQueue.PAGE_BYTES);
        });
    }

    /** Gives the memory back; the controller must have forgotten the queue. */
    @Override
    public void close() {
        queue.close();
        page.close();
    }
}

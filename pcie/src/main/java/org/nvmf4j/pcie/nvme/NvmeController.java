package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;
import org.nvmf4j.nvme.AbortCommand;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.Cns;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.CreateQueueCommand;
import org.nvmf4j.nvme.Feature;
import org.nvmf4j.nvme.FeaturesCommand;
import org.nvmf4j.nvme.IdentifyCommand;
import org.nvmf4j.nvme.IdentifyController;
import org.nvmf4j.nvme.IdentifyNamespace;
import org.nvmf4j.nvme.NamespaceList;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.NvmeStatusException;
import org.nvmf4j.nvme.SubmissionQueueEntry;

/**
 * A controller from reset to shutdown: its admin queue, its I/O queues, and what is done when it does not answer (NVMe Base 2.0, sections
 * 3.5 and 9.6). Each command ends exactly once: by the controller, or by a reset, after which it can be submitted again, or by the
 * controller's removal. One thread at a time. Where it waits, {@link Pace} has time pass.
 */
public final class NvmeController implements AutoCloseable {
    /** What a command ends with when the controller had to be reset: a host may try it again. */
    public static final int ENDED_BY_RESET = NvmeStatus.ABORT_REQUESTED;
    /** What a command ends with when the controller has gone. */
    public static final int ENDED_BY_REMOVAL = NvmeStatus.INTERNAL_ERROR;

    private static final System.Logger LOG = System.getLogger(NvmeController.class.getName());
    private static final int ADMIN_ENTRIES = 32;
    private static final long ADMIN_TIMEOUT_NANOS = 10_000_000_000L;
    private static final long ABORT_TIMEOUT_NANOS = 2_000_000_000L;
    private static final int GONE = 0xffff_ffff;
    private static final NvmeQueue.Handler IGNORED = (slot, status, result) -> {};

    private final NvmeRegisters registers;
    private final DmaAllocator dma;
    private final Pace pace;
    private final long cap;
    private final NvmeQueue admin;
    private final DmaMemory page;
    private final List<NvmeQueue> ioQueues = new ArrayList<>();
    private final List<NvmeQueue.Handler> ioHandlers = new ArrayList<>();
    private IdentifyController identify = new IdentifyController();
    private IntConsumer events = event -> {};
    private int eventSlot = -1;
    private int awaited = -1;
    private int awaitedStatus;
    private int awaitedResult;
    private boolean removed;
    private boolean enabled;
    private long resets;

    private NvmeController(NvmeRegisters registers, DmaAllocator dma, Pace pace) throws IOException {
        this.registers = registers;
        this.dma = dma;
        this.pace = pace;
        cap = registers.read64(ControllerProperties.CAP);
        if (cap == -1) {
            throw new NvmeDeviceException("the controller has gone: its registers read as all ones");
        }
        if ((cap & ControllerProperties.CAP_CSS_NVM) == 0
                || ControllerProperties.minPageSizeBytes(cap) > NvmeQueue.PAGE_BYTES) {
            throw new NvmeDeviceException(
                    String.format("a controller with CAP 0x%x has no NVM command set or no pages of 4 KiB", cap));
        }
        admin = new NvmeQueue(registers, cap, dma, 0, ADMIN_ENTRIES);
        try {
            page = dma.allocate(NvmeQueue.PAGE_BYTES);
        } catch (IOException e) {
            admin.close();
            throw e;
        }
    }

    /**
     * Resets a controller, enables it and identifies it. It has no I/O queues yet.
     *
     * @throws IOException with one line, if there is no memory or the controller does not do its part in time
     */
    public static NvmeController start(NvmeRegisters registers, DmaAllocator dma, Pace pace) throws IOException {
        NvmeController controller = new NvmeController(registers, dma, pace);
        try {
            controller.bringUp();
            return controller;
        } catch (IOException e) {
            controller.close();
            throw e;
        }
    }

    private void bringUp() throws IOException {
        disable();
        admin.clear();
        eventSlot = -1;
        registers.busMaster(true);
        registers.write32(ControllerProperties.AQA, ControllerProperties.aqa(ADMIN_ENTRIES, ADMIN_ENTRIES));
        registers.write64(ControllerProperties.ASQ, admin.submissionsAddress());
        registers.write64(ControllerProperties.ACQ, admin.completionsAddress());
        registers.write32(
                ControllerProperties.CC,
                ControllerProperties.cc(true, ControllerProperties.CSS_NVM, ControllerProperties.SHN_NONE));
        awaitStatus("be ready", csts -> ControllerProperties.ready(csts));
        enabled = true;
        identify = IdentifyController.parse(identify(0, Cns.CONTROLLER), 0);
        requestEvents();
    }

    private interface StatusTest {
        boolean isSo(int csts);
    }

    private void awaitStatus(String what, StatusTest test) throws NvmeDeviceException {
        long patience = Math.max(1, ControllerProperties.timeoutMillis(cap)) * 1_000_000L;
        long start = pace.nanoTime();
        while (true) {
            int csts = readStatus();
            if (test.isSo(csts)) {
                return;
            }
            if (ControllerProperties.fatal(csts)
                    && ControllerProperties.enabled(registers.read32(ControllerProperties.CC))) {
                throw new NvmeDeviceException("the controller reports a fatal error (CSTS.CFS) and does not " + what);
            }
            if (pace.nanoTime() - start > patience) {
                throw new NvmeDeviceException(
                        "the controller does not " + what + " within " + patience / 1_000_000 + " ms (CAP.TO)");
            }
            pace.pause();
        }
    }

    /** CSTS; notices a controller that has gone. */
    private int readStatus() throws NvmeDeviceException {
        int csts = registers.read32(ControllerProperties.CSTS);
        if (csts == GONE) {
            remove();
        }
        if (removed) {
            throw new NvmeDeviceException("the controller has gone: its registers read as all ones");
        }
        return csts;
    }

    /** The controller stops, by itself or cut off from the bus: when this returns or throws it touches no memory. */
    private void disable() throws NvmeDeviceException {
        enabled = false;
        registers.write32(ControllerProperties.CC, 0);
        try {
            awaitStatus("stop", csts -> !ControllerProperties.ready(csts));
        } catch (NvmeDeviceException e) {
            registers.busMaster(false);
            throw e;
        }
    }

    // What it is.

    public IdentifyController identify() {
        return identify;
    }

    /** The active namespaces. */
    public int[] namespaceIds() throws IOException {
        return NamespaceList.parse(identify(0, Cns.ACTIVE_NAMESPACE_LIST), 0);
    }

    public IdentifyNamespace namespace(int nsid) throws IOException {
        return IdentifyNamespace.parse(identify(nsid, Cns.NAMESPACE), 0);
    }

    /** The most that one command moves, by MDTS and by what a PRP list names. */
    public long maxTransferBytes() {
        int mdts = identify.mdts();
        long byController = mdts == 0 ? Long.MAX_VALUE : ControllerProperties.minPageSizeBytes(cap) << mdts;
        return Math.min(byController, NvmeQueue.MAX_TRANSFER_BYTES);
    }

    private MemorySegment identify(int nsid, int cns) throws IOException {
        page.segment().fill((byte) 0);
        execute("Identify", slot -> {
            IdentifyCommand.write(admin.commands(), admin.commandAt(), slot, nsid, cns, Cns.CSI_NVM);
            admin.data(slot, page.busAddress(), NvmeQueue.PAGE_BYTES);
        });
        return page.segment();
    }

    // Admin commands.

    /** Writes a command into its place in the admin queue. */
    private interface CommandWriter {
        void write(int slot);
    }

    /** Executes an admin command and waits for it; returns dword 0 of its completion. */
    private int execute(String what, CommandWriter writer) throws IOException {
        int status = tryExecute(what, ADMIN_TIMEOUT_NANOS, writer);
        if (!NvmeStatus.isSuccess(status)) {
            throw NvmeStatusException.of(what, status, awaitedResult);
        }
        return awaitedResult;
    }

    private int tryExecute(String what, long timeoutNanos, CommandWriter writer) throws NvmeDeviceException {
        int slot = admin.take();
        if (slot < 0) {
            throw new NvmeDeviceException("no room for " + what + " in the admin queue");
        }
        writer.write(slot);
        long deadline = pace.nanoTime() + timeoutNanos;
        admin.submit(slot, deadline);
        awaited = slot;
        admin.ring();
        while (awaited >= 0) {
            if (admin.poll(this::adminEnded) > 0) {
                continue;
            }
            readStatus();
            if (pace.nanoTime() - deadline >= 0) {
                awaited = -1;
                throw new NvmeDeviceException(
                        "the controller does not answer " + what + " within " + timeoutNanos / 1_000_000_000 + " s");
            }
            pace.pause();
        }
        return awaitedStatus;
    }

    private void adminEnded(int slot, int status, int result) {
        if (slot == awaited) {
            awaited = -1;
            awaitedStatus = status;
            awaitedResult = result;
        } else if (slot == eventSlot) {
            eventSlot = -1;
            if (NvmeStatus.isSuccess(status)) {
                events.accept(result);
            }
        }
    }

    /** Who hears of asynchronous events: dword 0 of their completions. Its log page is to be read, or the event does not come again. */
    public void onEvent(IntConsumer handler) {
        events = handler;
    }

    private void requestEvents() {
        int slot = admin.take();
        if (slot >= 0) {
            SubmissionQueueEntry.write(
                    admin.commands(), admin.commandAt(), AdminOpcode.ASYNCHRONOUS_EVENT_REQUEST, slot, 0);
            admin.submit(slot, Long.MAX_VALUE);
            admin.ring();
            eventSlot = slot;
        }
    }

    // I/O queues.

    /**
     * Makes as many I/O queues as the controller grants, at most those asked for.
     *
     * @param entries of each; fewer if the controller has no more
     * @param handlers of the queues, in their order
     */
    public List<NvmeQueue> createIoQueues(int entries, List<NvmeQueue.Handler> handlers) throws IOException {
        if (!ioQueues.isEmpty()) {
            throw new IllegalStateException("the controller has its I/O queues already");
        }
        int granted = grantedQueues(handlers.size());
        int size = Math.min(entries, ControllerProperties.mqesZeroBased(cap) + 1);
        for (int i = 0; i < granted; i++) {
            NvmeQueue queue = new NvmeQueue(registers, cap, dma, i + 1, size);
            ioQueues.add(queue);
            ioHandlers.add(handlers.get(i));
            create(queue);
        }
        return List.copyOf(ioQueues);
    }

    private int grantedQueues(int wanted) throws IOException {
        int result = execute(
                "Set Features",
                slot -> FeaturesCommand.writeSet(
                        admin.commands(),
                        admin.commandAt(),
                        slot,
                        0,
                        Feature.NUMBER_OF_QUEUES,
                        FeaturesCommand.numberOfQueues(wanted, wanted)));
        int granted = Math.min(FeaturesCommand.submissionQueues(result), FeaturesCommand.completionQueues(result));
        return Math.min(wanted, granted);
    }

    private void create(NvmeQueue queue) throws IOException {
        execute(
                "Create I/O Completion Queue",
                slot -> CreateQueueCommand.writeCompletionQueue(
                        admin.commands(),
                        admin.commandAt(),
                        slot,
                        queue.qid(),
                        queue.entries(),
                        queue.completionsAddress(),
                        -1));
        execute(
                "Create I/O Submission Queue",
                slot -> CreateQueueCommand.writeSubmissionQueue(
                        admin.commands(),
                        admin.commandAt(),
                        slot,
                        queue.qid(),
                        queue.entries(),
                        queue.submissionsAddress()));
    }

    // What goes wrong.

    /**
     * Looks after the controller; to be called every so often. Takes events, aborts commands that are overdue, resets a controller that
     * does not even abort, or that reports a fatal error, and ends all commands of one that has gone.
     *
     * @throws IOException if the controller cannot be used any more; its commands have ended
     */
    public void lookAfter() throws IOException {
        try {
            if (admin.poll(this::adminEnded) > 0 && eventSlot < 0) {
                requestEvents();
            }
            if (ControllerProperties.fatal(readStatus())) {
                LOG.log(System.Logger.Level.WARNING, "the controller reports a fatal error (CSTS.CFS): reset");
                reset();
                return;
            }
            for (int i = 0; i < ioQueues.size(); i++) {
                if (!abortOverdue(ioQueues.get(i), ioHandlers.get(i))) {
                    reset();
                    return;
                }
            }
        } catch (NvmeDeviceException e) {
            if (removed) {
                throw e;
            }
            LOG.log(System.Logger.Level.WARNING, e.getMessage() + ": reset");
            reset();
        }
    }

    /** Aborts what takes too long; false if that does not help. */
    private boolean abortOverdue(NvmeQueue queue, NvmeQueue.Handler handler) throws NvmeDeviceException {
        for (int slot = queue.overdue(pace.nanoTime()); slot >= 0; slot = queue.overdue(pace.nanoTime())) {
            int late = slot;
            LOG.log(
                    System.Logger.Level.WARNING,
                    "command " + late + " of queue " + queue.qid() + " takes too long: abort");
            tryExecute(
                    "Abort",
                    ABORT_TIMEOUT_NANOS,
                    abort -> AbortCommand.write(admin.commands(), admin.commandAt(), abort, queue.qid(), late));
            queue.poll(handler);
            if (queue.isOutstanding(late)) {
                return false;
            }
        }
        return true;
    }

    /**
     * Stops the controller, ends every command with {@link #ENDED_BY_RESET}, and starts it again with the same queues.
     *
     * @throws IOException if it does not come back; nothing is outstanding then
     */
    public void reset() throws IOException {
        resets++;
        try {
            disable();
        } catch (NvmeDeviceException e) {
            endAll(removed ? ENDED_BY_REMOVAL : ENDED_BY_RESET);
            throw e;
        }
        endAll(ENDED_BY_RESET);
        bringUp();
        if (!ioQueues.isEmpty()) {
            if (grantedQueues(ioQueues.size()) < ioQueues.size()) {
                throw new NvmeDeviceException("the controller grants fewer queues after a reset than before");
            }
            for (NvmeQueue queue : ioQueues) {
                queue.clear();
                create(queue);
            }
        }
    }

    private void endAll(int status) {
        admin.endAll(status, IGNORED);
        for (int i = 0; i < ioQueues.size(); i++) {
            ioQueues.get(i).endAll(status, ioHandlers.get(i));
        }
    }

    private void remove() {
        if (!removed) {
            removed = true;
            enabled = false;
            endAll(ENDED_BY_REMOVAL);
        }
    }

    /** How often it was reset since it was started. */
    public long resets() {
        return resets;
    }

    public boolean isRemoved() {
        return removed;
    }

    /** Shuts the controller down, stops it and gives all memory back. Commands that are outstanding end. */
    @Override
    public void close() {
        try {
            if (enabled) {
                registers.write32(
                        ControllerProperties.CC,
                        ControllerProperties.cc(true, ControllerProperties.CSS_NVM, ControllerProperties.SHN_NORMAL));
                awaitStatus("shut down", csts -> ControllerProperties.shst(csts) == ControllerProperties.SHST_COMPLETE);
            }
            if (!removed) {
                disable();
            }
        } catch (NvmeDeviceException e) {
            LOG.log(System.Logger.Level.WARNING, e.getMessage());
        }
        endAll(removed ? ENDED_BY_REMOVAL : ENDED_BY_RESET);
        ioQueues.forEach(NvmeQueue::close);
        ioQueues.clear();
        ioHandlers.clear();
        admin.close();
        page.close();
    }
}

package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.IntConsumer;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.AbortCommand;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.AsyncEvent;
import org.nvmf4j.nvme.Cns;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.CreateQueueCommand;
import org.nvmf4j.nvme.Feature;
import org.nvmf4j.nvme.FeaturesCommand;
import org.nvmf4j.nvme.IdentifyController;
import org.nvmf4j.nvme.IdentifyControllerNvm;
import org.nvmf4j.nvme.IdentifyNamespace;
import org.nvmf4j.nvme.NamespaceList;
import org.nvmf4j.nvme.NvmeStatus;

/**
 * A controller from reset to shutdown: its admin queue, its I/O queues, and what is done when it does not answer (NVMe Base 2.0, sections
 * 3.5 and 9.6). Each command ends exactly once: by the controller, or by a reset, after which it can be submitted again, or by the
 * controller's removal.
 *
 * <p>One thread at a time, the control thread, but for {@link #openQueue}; each I/O queue belongs to a lane and takes no lock. Where it
 * waits, {@link Pace} has time pass, and lanes go on.
 */
public final class NvmeController implements AutoCloseable {
    /** What a command ends with when the controller had to be reset, or did not end it in time: a host may try it again. */
    public static final int ENDED_BY_RESET = NvmeStatus.ABORT_REQUESTED;
    /** What a command ends with when the controller has gone, or cannot be used any more: trying again does not help. */
    public static final int ENDED_FOR_GOOD = NvmeStatus.INTERNAL_ERROR | NvmeStatus.DNR;

    private static final System.Logger LOG = System.getLogger(NvmeController.class.getName());
    private static final int MAX_IO_QUEUES = 64;
    private static final long ABORT_TIMEOUT_NANOS = 2_000_000_000L;
    /** How long lanes may take to stop before the controller is stopped under them. */
    private static final long LANES_TIMEOUT_NANOS = 1_000_000_000L;

    private static final int GONE = 0xffff_ffff;

    /** Looks at namespaces that may not be what they were. */
    interface NamespaceCheck {
        /** @throws NvmeDeviceException if the controller does not do its part */
        void run() throws NvmeDeviceException;
    }

    private final NvmeRegisters registers;
    private final DmaAllocator dma;
    private final Pace pace;
    private final @Nullable NvmeCmb memoryBuffer;
    private final long cap;
    private final int version;
    private final NvmeAdminQueue admin;
    private final List<NvmeIoQueue> ioQueues = new CopyOnWriteArrayList<>();
    /** Identifiers of I/O queues that there are; guards itself. */
    private final BitSet qids = new BitSet();

    private IdentifyController identify = new IdentifyController();
    private IntConsumer events = event -> {};
    private NamespaceCheck namespaceCheck = () -> {};
    private volatile int maxQueues;
    /** See {@link IdentifyController#sglAlignmentBytes}. */
    private volatile int sglAlignmentBytes;

    private volatile boolean unusable;
    private boolean removed;
    private boolean enabled;
    private long resets;

    private NvmeController(NvmeRegisters registers, DmaAllocator dma, Pace pace, @Nullable NvmeCmb memoryBuffer)
            throws IOException {
        this.registers = registers;
        this.dma = dma;
        this.pace = pace;
        this.memoryBuffer = memoryBuffer;
        cap = registers.read64(ControllerProperties.CAP);
        if (cap == -1) {
            throw new NvmeDeviceException("the controller has gone: its registers do not answer");
        }
        if ((cap & ControllerProperties.CAP_CSS_NVM) == 0
                || ControllerProperties.minPageSizeBytes(cap) > NvmeQueue.PAGE_BYTES
                || ControllerProperties.mqesZeroBased(cap) == 0) {
            throw new NvmeDeviceException(String.format(
                    "a controller with CAP 0x%x has no NVM command set, no pages of 4 KiB or no queues of two entries",
                    cap));
        }
        if (reachableQueues() < 1) {
            throw new NvmeDeviceException(String.format(
                    "a controller with CAP 0x%x has no doorbells of an I/O queue in BAR 0 of %d bytes",
                    cap, registers.sizeBytes()));
        }
        version = registers.read32(ControllerProperties.VS);
        admin = new NvmeAdminQueue(registers, cap, dma, pace, this::checkRunning);
    }

    /**
     * Resets a controller, enables it, identifies it and asks how many queues it has. It has no I/O queues yet.
     *
     * @param memoryBuffer null for none; is enabled with the controller, and stays the caller's to close, after it
     * @throws IOException with one line, if there is no memory or the controller does not do its part in time
     */
    public static NvmeController start(
            NvmeRegisters registers, DmaAllocator dma, Pace pace, @Nullable NvmeCmb memoryBuffer) throws IOException {
        NvmeController controller = new NvmeController(registers, dma, pace, memoryBuffer);
        try {
            controller.bringUp();
            return controller;
        } catch (IOException | RuntimeException e) {
            controller.close();
            throw e;
        }
    }

    private void bringUp() throws IOException {
        disable();
        if (memoryBuffer != null) {
            memoryBuffer.enable();
        }
        admin.clear();
        registers.busMaster(true);
        registers.write32(
                ControllerProperties.AQA, ControllerProperties.aqa(NvmeAdminQueue.ENTRIES, NvmeAdminQueue.ENTRIES));
        registers.write64(ControllerProperties.ASQ, admin.queue().submissionsAddress());
        registers.write64(ControllerProperties.ACQ, admin.queue().completionsAddress());
        enabled = true;
        registers.write32(
                ControllerProperties.CC,
                ControllerProperties.cc(true, ControllerProperties.CSS_NVM, ControllerProperties.SHN_NONE));
        awaitStatus("become ready", readyMillis(), ControllerProperties::ready);
        identify = IdentifyController.parse(admin.identify(0, Cns.CONTROLLER), 0);
        sglAlignmentBytes = identify.sglAlignmentBytes();
        maxQueues = grantedQueues();
        chooseEvents();
        admin.requestEvent();
    }

    /** How long it may take to be ready or to stop; a unit more, as in Linux, since clocks differ and 0 is allowed. */
    private long readyMillis() {
        long millis = ControllerProperties.timeoutMillis(cap);
        if ((cap & ControllerProperties.CAP_CRWMS) != 0) {
            int crto = registers.read32(ControllerProperties.CRTO);
            millis = Math.max(millis, ControllerProperties.readyWithMediaMillis(crto));
        }
        return millis + 500;
    }

    /** How long it may take to shut down: what it tells as RTD3E, within what Linux grants. */
    private long shutdownMillis() {
        return Math.clamp((identify.rtd3e() & 0xffff_ffffL) / 1000, 5_000, 60_000);
    }

    private void awaitStatus(String what, long patienceMillis, IntPredicate isSo) throws NvmeDeviceException {
        long start = pace.nanoTime();
        while (true) {
            int csts = readStatus();
            if (isSo.test(csts)) {
                return;
            }
            if (ControllerProperties.fatal(csts)
                    && ControllerProperties.enabled(registers.read32(ControllerProperties.CC))) {
                throw new NvmeDeviceException("the controller reports a fatal error (CSTS.CFS) and does not " + what);
            }
            if (pace.nanoTime() - start > patienceMillis * 1_000_000) {
                throw new NvmeDeviceException("the controller does not " + what + " within " + patienceMillis + " ms");
            }
            pace.pause();
        }
    }

    /** CSTS; notices a controller that has gone. */
    private int readStatus() throws NvmeDeviceException {
        int csts = registers.read32(ControllerProperties.CSTS);
        if (csts == GONE || (csts == 0 && !answers())) {
            remove();
        }
        if (removed) {
            throw new NvmeDeviceException("the controller has gone: its registers do not answer");
        }
        return csts;
    }

    /** Whether its registers, which read as 0, are its registers, if need be from now on: one that cannot be reached may go on. */
    private boolean answers() {
        if (registers.read64(ControllerProperties.CAP) != cap) {
            registers.answer();
        }
        return registers.read64(ControllerProperties.CAP) == cap;
    }

    /** A controller that was enabled runs until it fails, or somebody else resets its function. */
    private void checkRunning() throws NvmeDeviceException {
        int csts = readStatus();
        if (ControllerProperties.fatal(csts)) {
            throw new NvmeDeviceException("the controller reports a fatal error (CSTS.CFS)");
        }
        if (!ControllerProperties.ready(csts)) {
            throw new NvmeDeviceException("the controller was reset or turned off by somebody else (CSTS.RDY is 0)");
        }
    }

    /** The controller stops, by itself or cut off from the bus: when this returns or throws it touches no memory. */
    private void disable() throws NvmeDeviceException {
        registers.answer();
        // Entry sizes must not change while there are queues.
        registers.write32(
                ControllerProperties.CC,
                ControllerProperties.cc(false, ControllerProperties.CSS_NVM, ControllerProperties.SHN_NONE));
        try {
            awaitStatus("stop", readyMillis(), csts -> !ControllerProperties.ready(csts));
            enabled = false;
            ioQueues.forEach(queue -> queue.created = false);
        } catch (NvmeDeviceException e) {
            enabled = false;
            registers.busMaster(false);
            throw e;
        }
    }

    // What it is.

    public IdentifyController identify() {
        return identify;
    }

    /**
     * Limits of commands other than Read and Write; zeroes if the controller tells of none. Before 1.2 it might take CNS for a field of one
     * or two bits; from then on one that does not know the value says so.
     */
    public IdentifyControllerNvm limits() throws IOException {
        MemorySegment answer = version < ControllerProperties.version(1, 2, 0)
                ? null
                : admin.tryIdentify(0, Cns.COMMAND_SET_CONTROLLER);
        return answer == null ? new IdentifyControllerNvm() : IdentifyControllerNvm.parse(answer, 0);
    }

    /** The active namespaces. Before 1.1 there is no list of them, and all up to NN are active. */
    public int[] namespaceIds() throws IOException {
        return version < ControllerProperties.version(1, 1, 0)
                ? IntStream.rangeClosed(1, Math.min(identify.nn(), NamespaceList.MAX_ENTRIES))
                        .toArray()
                : NamespaceList.parse(admin.identify(0, Cns.ACTIVE_NAMESPACE_LIST), 0);
    }

    public IdentifyNamespace namespace(int nsid) throws IOException {
        return IdentifyNamespace.parse(admin.identify(nsid, Cns.NAMESPACE), 0);
    }

    /** The most that one command moves, by MDTS, and by what a PRP list names where there are no SGLs. */
    public long maxTransferBytes() {
        return hasSgls()
                ? identify.maxTransferBytes()
                : Math.min(identify.maxTransferBytes(), NvmeQueue.MAX_LISTED_BYTES);
    }

    /** What addresses of data of I/O commands must be multiples of: 4 by PRPs, 1 where SGLs name others. */
    public int dataAlignmentBytes() {
        return sglAlignmentBytes == 1 ? 1 : 4;
    }

    private boolean hasSgls() {
        return sglAlignmentBytes > 0;
    }

    // Events.

    /** Who hears of asynchronous events, in {@link #lookAfter}: dword 0 of their completions, see {@link AsyncEvent}. */
    public void onEvent(IntConsumer handler) {
        events = handler;
    }

    /**
     * Who looks at the namespaces after the controller has reported that their attributes changed, and after each reset before queues run
     * again; in {@link #lookAfter}, and may use the admin queue.
     */
    void onNamespacesChanged(NamespaceCheck check) {
        namespaceCheck = check;
    }

    private void takeEvent() throws NvmeDeviceException {
        int event = admin.takeEvent();
        if (event != NvmeAdminQueue.NO_EVENT) {
            events.accept(event);
            admin.acknowledge(event); // first, so that a change during the check is reported again
            if (AsyncEvent.isNamespaceAttributeChanged(event)) {
                namespaceCheck.run();
            }
        }
        admin.requestEvent();
    }

    /** Without this a controller may report nothing but errors. One that refuses is as good as it is. */
    private void chooseEvents() throws NvmeDeviceException {
        int notices = AsyncEvent.NOTICE_NAMESPACE_ATTRIBUTE | AsyncEvent.NOTICE_FIRMWARE_ACTIVATION;
        int wanted = AsyncEvent.CRITICAL_WARNINGS | (identify.oaes() & notices);
        int _ = admin.tryExecute(
                "Set Features", slot -> writeSet(slot, Feature.ASYNCHRONOUS_EVENT_CONFIGURATION, wanted));
    }

    // I/O queues.

    /** How many I/O queues it can have. */
    public int maxQueues() {
        return maxQueues;
    }

    /** As {@link #openQueue(int, CmbQueues, Runnable)}, in host memory alone. */
    public NvmeIoQueue openQueue(int entries, Runnable wakeUp) throws IOException {
        return openQueue(entries, null, wakeUp);
    }

    /**
     * Makes an I/O queue, which begins to run after the next {@link #lookAfter}; from any thread.
     *
     * @param entries at most; fewer if the controller has no more
     * @param places for submissions in the memory buffer; without one they are in host memory
     * @param wakeUp has the queue's owner poll it soon; from any thread
     * @throws IOException with one line, if there is no memory, or the controller has no more queues or cannot be used any more
     */
    NvmeIoQueue openQueue(int entries, @Nullable CmbQueues places, Runnable wakeUp) throws IOException {
        int qid = takeQid();
        NvmeIoQueue queue;
        try {
            int size = Math.min(entries, ControllerProperties.mqesZeroBased(cap) + 1);
            CmbQueues.Place place = places == null ? null : places.place(qid, size);
            queue = new NvmeIoQueue(new NvmeQueue(registers, cap, dma, qid, size, hasSgls(), place), wakeUp);
        } catch (IOException e) {
            giveQid(qid);
            throw e;
        }
        ioQueues.add(queue);
        if (unusable) {
            queue.endForGood(ENDED_FOR_GOOD);
        }
        return queue;
    }

    private int takeQid() throws NvmeDeviceException {
        synchronized (qids) {
            int qid = qids.nextClearBit(1);
            if (qid > maxQueues) {
                throw new NvmeDeviceException(
                        "the controller has " + maxQueues + " I/O queues and all are in use; use fewer lanes");
            }
            qids.set(qid);
            return qid;
        }
    }

    private void giveQid(int qid) {
        synchronized (qids) {
            qids.clear(qid);
        }
    }

    private int grantedQueues() throws IOException {
        int wanted = FeaturesCommand.numberOfQueues(MAX_IO_QUEUES, MAX_IO_QUEUES);
        int result = admin.execute("Set Features", slot -> writeSet(slot, Feature.NUMBER_OF_QUEUES, wanted));
        int granted = Math.min(FeaturesCommand.submissionQueues(result), FeaturesCommand.completionQueues(result));
        return Math.min(Math.min(MAX_IO_QUEUES, granted), reachableQueues());
    }

    /** How many I/O queues have their doorbells in BAR 0, as CAP.DSTRD sets them apart. */
    private int reachableQueues() {
        long bytes = Math.max(0, registers.sizeBytes() - ControllerProperties.DOORBELLS);
        return (int) Math.min(MAX_IO_QUEUES, bytes / (2L * ControllerProperties.doorbellStride(cap)) - 1);
    }

    private void writeSet(int slot, int feature, int value) {
        FeaturesCommand.writeSet(admin.queue().commands(), admin.queue().commandAt(), slot, 0, feature, value);
    }

    /** Has the controller know the queues that lanes wait for, and forget those that they need no more. */
    private void serveLanes() throws IOException {
        for (NvmeIoQueue queue : ioQueues) {
            if (queue.isClosed()) {
                delete(queue);
            } else if (queue.isReadyToRun()) {
                create(queue);
            }
        }
    }

    private void create(NvmeIoQueue io) throws IOException {
        admin.execute("Create I/O Completion Queue", slot -> io.queue().writeCreateCompletions(admin.queue(), slot));
        admin.execute("Create I/O Submission Queue", slot -> io.queue().writeCreateSubmissions(admin.queue(), slot));
        io.created = true;
        io.run();
    }

    private void delete(NvmeIoQueue io) throws IOException {
        if (io.created) {
            io.created = false; // from here on, or from the reset that a failure brings
            admin.execute("Delete I/O Submission Queue", slot -> writeDelete(AdminOpcode.DELETE_IO_SQ, slot, io.qid()));
            admin.execute("Delete I/O Completion Queue", slot -> writeDelete(AdminOpcode.DELETE_IO_CQ, slot, io.qid()));
        }
        ioQueues.remove(io);
        io.queue().close();
        giveQid(io.qid());
    }

    private void writeDelete(int opcode, int slot, int qid) {
        CreateQueueCommand.writeDelete(admin.queue().commands(), admin.queue().commandAt(), opcode, slot, qid);
    }

    // What goes wrong.

    /**
     * Looks after the controller; to be called every so often. Takes events, creates and deletes queues, aborts commands that are
     * overdue, resets a controller that does not even abort, or does not run any more, and ends all commands of one that has gone.
     *
     * @throws IOException if the controller cannot be used any more; its commands end for good
     */
    public void lookAfter() throws IOException {
        if (unusable) {
            serveLanes(); // closed queues alone
            return;
        }
        String trouble;
        try {
            int _ = admin.poll();
            checkRunning();
            admin.checkAnswered();
            takeEvent();
            trouble = troubleOfQueues();
            if (trouble == null) {
                serveLanes();
                return;
            }
        } catch (IOException e) {
            if (removed) {
                throw e;
            }
            trouble = e.getMessage();
        }
        LOG.log(System.Logger.Level.WARNING, "reset of the controller: " + trouble);
        reset();
    }

    /** Aborts what takes too long; says why a reset is needed, or null. */
    private @Nullable String troubleOfQueues() throws NvmeDeviceException {
        for (NvmeIoQueue queue : ioQueues) {
            if (!queue.created) {
                continue; // it has yet to follow a reset
            }
            if (queue.isFaulty()) {
                return "it ended a command of queue " + queue.qid() + " that was not outstanding";
            }
            long late = queue.overdue();
            int slot = queue.overdueSlot();
            if (slot >= 0 && !abort(queue, late, slot)) {
                return "command " + slot + " of queue " + queue.qid() + " does not end even by an abort";
            }
        }
        return null;
    }

    private boolean abort(NvmeIoQueue queue, long late, int slot) throws NvmeDeviceException {
        LOG.log(System.Logger.Level.WARNING, "command " + slot + " of queue " + queue.qid() + " takes too long: abort");
        long deadline = pace.nanoTime() + ABORT_TIMEOUT_NANOS;
        admin.tryExecute(
                "Abort",
                ABORT_TIMEOUT_NANOS,
                command -> AbortCommand.write(
                        admin.queue().commands(), admin.queue().commandAt(), command, queue.qid(), slot));
        while (queue.overdue() == late && !queue.isClosed()) {
            if (pace.nanoTime() - deadline >= 0) {
                return false;
            }
            checkRunning();
            pace.pause();
        }
        return true;
    }

    /**
     * Stops the lanes, then the controller, has every command end with {@link #ENDED_BY_RESET}, and starts it again; each lane goes on when
     * its queue has been created again.
     *
     * @throws IOException if it does not come back; everything ends for good then
     */
    public void reset() throws IOException {
        resets++;
        if (memoryBuffer != null) {
            memoryBuffer.lose();
        }
        ioQueues.forEach(NvmeIoQueue::stop);
        long deadline = pace.nanoTime() + LANES_TIMEOUT_NANOS;
        while (ioQueues.stream().anyMatch(NvmeIoQueue::mayTouch) && pace.nanoTime() - deadline < 0) {
            pace.pause();
        }
        try {
            disable();
            ioQueues.forEach(queue -> queue.end(ENDED_BY_RESET));
            admin.endAll(ENDED_BY_RESET);
            bringUp();
            namespaceCheck.run();
            serveLanes();
        } catch (IOException e) {
            giveUp();
            throw e;
        }
    }

    /** Ends everything, now and later; a controller that runs is cut off. */
    void giveUp() {
        if (!unusable) {
            unusable = true;
            if (enabled) {
                enabled = false;
                registers.busMaster(false);
            }
            admin.endAll(ENDED_FOR_GOOD);
            ioQueues.forEach(queue -> {
                queue.created = false;
                queue.endForGood(ENDED_FOR_GOOD);
            });
        }
    }

    private void remove() {
        removed = true;
        giveUp();
    }

    /** How often it was reset since it was started. */
    public long resets() {
        return resets;
    }

    public boolean isRemoved() {
        return removed;
    }

    /** Whether no lane touches a queue or the registers any more; after {@link #isUnusable}. */
    boolean isQuiet() {
        return ioQueues.stream().noneMatch(NvmeIoQueue::mayTouch);
    }

    /** Whether it has gone, or cannot be used any more. */
    public boolean isUnusable() {
        return unusable;
    }

    /** Shuts the controller down, stops it and gives all memory back. Lanes must not poll their queues any more. */
    @Override
    public void close() {
        try {
            if (enabled) {
                registers.write32(
                        ControllerProperties.CC,
                        ControllerProperties.cc(true, ControllerProperties.CSS_NVM, ControllerProperties.SHN_NORMAL));
                awaitStatus(
                        "shut down",
                        shutdownMillis(),
                        csts -> ControllerProperties.shst(csts) == ControllerProperties.SHST_COMPLETE);
            }
            if (!unusable) {
                disable();
            }
        } catch (NvmeDeviceException e) {
            LOG.log(System.Logger.Level.WARNING, e.getMessage());
        }
        giveUp();
        ioQueues.forEach(queue -> queue.queue().close());
        ioQueues.clear();
        admin.close();
    }
}

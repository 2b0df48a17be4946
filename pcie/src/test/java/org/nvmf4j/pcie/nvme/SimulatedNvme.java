package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.AbortCommand;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.AsyncEvent;
import org.nvmf4j.nvme.Cns;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.CreateQueueCommand;
import org.nvmf4j.nvme.Feature;
import org.nvmf4j.nvme.FeaturesCommand;
import org.nvmf4j.nvme.IdentifyCommand;
import org.nvmf4j.nvme.IdentifyController;
import org.nvmf4j.nvme.IdentifyControllerNvm;
import org.nvmf4j.nvme.IdentifyNamespace;
import org.nvmf4j.nvme.LbaFormat;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.pcie.nvme.SimulatedQueue.Fetched;
import org.nvmf4j.target.spi.PeerBlock;

/**
 * A controller with one namespace, its bus and the time, from a seed: works while the driver pauses, ends commands in any order, and
 * misbehaves where it is told to. A touch of memory that is not mapped is an error of the test; it goes on until the device has
 * stopped, or is cut off from the bus.
 */
final class SimulatedNvme implements NvmeHardware, NvmeRegisters, DmaAllocator, Pace {
    static final int BLOCK_BYTES = 512;
    static final int BLOCKS = 4096;
    private static final int PAGE_BYTES = 4096;

    private final Random random;
    private final SimulatedMemory memory = new SimulatedMemory();
    private final Map<Integer, SimulatedQueue> queues = new HashMap<>();
    private final List<Fetched> fetched = new ArrayList<>();
    private final List<Fetched> lost = new ArrayList<>();
    private final List<Fetched> events = new ArrayList<>();
    private final SimulatedMedium medium;
    private long nowNanos = 1;
    private int cc;
    private int csts;
    private int aqa;
    private long asq;
    private long acq;
    private long configuredNanos;
    private boolean busMaster;
    private boolean wasReset;
    private boolean off;
    private boolean cutOff;
    private int reported;

    /** One command in so many is never answered; 0 for none. Aborts find it unless they are what it {@link #ignores}. */
    int loses;
    /** One I/O command in so many fails with {@link #failure}; 0 for none. */
    int fails;

    int failure = NvmeStatus.UNRECOVERED_READ_ERROR;
    /** The opcode of admin commands that it does not answer; -1 for none. */
    int ignores = -1;
    /** It does not stop when it is told to. */
    boolean stuck;
    /** Queues that it grants. */
    int granted = 8;

    /** Nothing can be mapped. */
    boolean refusesToMap;
    /** Log pages that were read. */
    int logPages;

    volatile boolean removed;
    int version = ControllerProperties.version(1, 4, 0);
    /** CAP. */
    long cap = ControllerProperties.cap(63, 2000);

    /** Of BAR 0. */
    long registerBytes = 64 << 10;

    int crto;
    /** How long it takes to be ready, and to shut down. */
    long readyNanos;

    long shutdownNanos;
    /** Microseconds. */
    int rtd3e;

    /** Whether it was given the time to. */
    boolean shutDown;

    int mdts = 5;
    /** SGLS. */
    int sgls;
    /** Commands with an SGL. */
    int described;

    int oncs = IdentifyController.ONCS_COMPARE
            | IdentifyController.ONCS_DATASET_MANAGEMENT
            | IdentifyController.ONCS_WRITE_ZEROES;
    /** What it tells of limits of other commands; null if it cannot. To exceed them is an error of the test. */
    @Nullable
    IdentifyControllerNvm limits;

    int vwc = IdentifyController.VWC_PRESENT;
    /** It does not identify its namespace. */
    boolean refusesNamespace;

    final IdentifyNamespace namespace =
            new IdentifyNamespace().nsze(BLOCKS).ncap(BLOCKS).lbaFormat(0, new LbaFormat(0, 9, 0));
    /** What others do while the driver pauses. */
    Runnable meanwhile = () -> {};
    /** Its memory buffer, if it has one. */
    @Nullable
    SimulatedCmb cmb;

    SimulatedNvme(long seed) {
        random = new Random(seed);
        medium = new SimulatedMedium(BLOCKS * BLOCK_BYTES);
    }

    SimulatedMedium medium() {
        return medium;
    }

    /** Allocations that were not given back. */
    int allocations() {
        return memory.size();
    }

    synchronized boolean isFatal() {
        return ControllerProperties.fatal(csts);
    }

    synchronized void fatal() {
        csts |= ControllerProperties.CSTS_CFS;
    }

    /** As a reset of the function, by somebody else than the driver. */
    synchronized void resetFunction() {
        cc = 0;
        stop();
        wasReset = true;
    }

    private void stop() {
        queues.clear();
        fetched.clear();
        lost.clear();
        events.clear();
        reported = 0;
        csts = 0;
        if (cmb != null) {
            cmb.forget();
        }
    }

    /** Whether a driver has it. */
    int openings;

    @Override
    public NvmeRegisters registers() {
        openings++;
        return this;
    }

    @Override
    public DmaAllocator dma() {
        return this;
    }

    @Override
    public Pace pace() {
        return this;
    }

    @Override
    public @Nullable NvmeCmb memoryBuffer() {
        return cmb == null ? null : cmb.found;
    }

    @Override
    public @Nullable PeerBlock allocateInBuffer(long bytes) throws IOException {
        return cmb == null ? null : cmb.peerMemory().allocate(bytes);
    }

    @Override
    public void close() {
        if (cmb != null) {
            cmb.peerMemory().close();
        }
        openings--;
    }

    // The time.

    @Override
    public long nanoTime() {
        return nowNanos;
    }

    @Override
    public void pause() {
        nowNanos += 1_000_000;
        work();
        meanwhile.run();
    }

    void pass(long nanos) {
        nowNanos += nanos;
    }

    // The bus.

    @Override
    public DmaMemory allocate(long bytes) throws IOException {
        return map(Arena.ofAuto().allocate((bytes + PAGE_BYTES - 1) & -PAGE_BYTES, PAGE_BYTES));
    }

    @Override
    public DmaMemory map(MemorySegment segment) throws IOException {
        if (refusesToMap) {
            throw new IOException("there is no room");
        }
        return memory.map(segment);
    }

    private MemorySegment at(long address, long length) {
        if (cmb != null && cmb.covers(address, length)) {
            return cmb.at(address, length);
        }
        return memory.at(address, length);
    }

    /** Somebody has it answer no more, neither at its registers nor as a bus master. */
    synchronized void turnOff() {
        off = true;
        busMaster = false;
    }

    /** Its registers cannot be reached any more, while it goes on with what it has. */
    synchronized void cutOff() {
        off = true;
        cutOff = true;
    }

    @Override
    public synchronized void answer() {
        off = cutOff;
    }

    synchronized boolean isBusMaster() {
        return busMaster;
    }

    @Override
    public synchronized void busMaster(boolean allowed) {
        busMaster = allowed;
    }

    // Registers.

    @Override
    public long sizeBytes() {
        return registerBytes;
    }

    @Override
    public synchronized int read32(int offset) {
        if (removed || off) {
            return removed ? -1 : 0;
        }
        return switch (offset) {
            case ControllerProperties.CC -> cc;
            case ControllerProperties.CSTS -> csts;
            case ControllerProperties.VS -> version;
            case ControllerProperties.CRTO -> crto;
            case ControllerProperties.CMBLOC, ControllerProperties.CMBSZ, ControllerProperties.CMBSTS ->
                cmb == null ? 0 : cmb.read32(offset);
            default -> throw new AssertionError("a read of " + ControllerProperties.name(offset));
        };
    }

    @Override
    public synchronized long read64(int offset) {
        if (removed || off) {
            return removed ? -1 : 0;
        }
        if (offset != ControllerProperties.CAP) {
            throw new AssertionError("a wide read of " + ControllerProperties.name(offset));
        }
        return cap | (cmb != null && cmb.controlled ? ControllerProperties.CAP_CMBS : 0);
    }

    @Override
    public synchronized void write64(int offset, long value) {
        if (off) {
            return;
        }
        if (offset == ControllerProperties.ASQ) {
            asq = value;
        } else if (offset == ControllerProperties.ACQ) {
            acq = value;
        } else if (offset == ControllerProperties.CMBMSC && cmb != null) {
            cmb.control(value);
        } else {
            throw new AssertionError("a wide write of " + ControllerProperties.name(offset));
        }
    }

    @Override
    public synchronized void write32(int offset, int value) {
        if (removed || off) {
            return;
        }
        if (offset >= registerBytes) {
            throw new IndexOutOfBoundsException(offset);
        }
        if (offset >= ControllerProperties.DOORBELLS) {
            doorbell((offset - ControllerProperties.DOORBELLS) / ControllerProperties.doorbellStride(cap), value);
        } else if (offset == ControllerProperties.AQA) {
            aqa = value;
        } else if (offset == ControllerProperties.CC) {
            configure(value);
        } else {
            throw new AssertionError("a write of " + ControllerProperties.name(offset));
        }
    }

    @Override
    public synchronized void copy(MemorySegment source, MemorySegment target, long offset, long lengthBytes) {
        if (!removed) {
            MemorySegment.copy(source, offset, target, offset, lengthBytes);
        }
    }

    private void doorbell(int number, int value) {
        SimulatedQueue queue = queues.get(number / 2);
        if (queue == null && wasReset) {
            return; // the driver may not know yet
        }
        if (queue == null) {
            throw new AssertionError("a doorbell of queue " + number / 2 + ", which there is not");
        }
        if (number % 2 == 0) {
            queue.submissionTail = value;
        } else {
            queue.completionHead = value;
        }
    }

    private void configure(int value) {
        boolean was = ControllerProperties.enabled(cc);
        if (queues.size() > 1 && ((cc ^ value) & ControllerProperties.CC_ENTRY_SIZES) != 0) {
            throw new AssertionError("entry sizes change while there are queues");
        }
        if (ControllerProperties.enabled(value) != was
                || ControllerProperties.shn(value) != ControllerProperties.shn(cc)) {
            configuredNanos = nowNanos;
        }
        cc = value;
        if (ControllerProperties.enabled(value) && !was) {
            SimulatedQueue admin = new SimulatedQueue();
            admin.submissions = asq;
            admin.submissionEntries = ControllerProperties.submissionEntries(aqa);
            admin.completions = acq;
            admin.completionEntries = ControllerProperties.completionEntries(aqa);
            queues.put(0, admin);
            csts = 0;
            wasReset = false;
        }
    }

    // Work.

    /** A little of what there is to do. */
    synchronized void work() {
        if (removed) {
            return;
        }
        if (!ControllerProperties.enabled(cc) && !stuck && random.nextInt(4) == 0) {
            stop();
        }
        if (!busMaster) {
            return;
        }
        if (!ControllerProperties.enabled(cc)) {
            execute(); // it takes its time to stop
            return;
        }
        if (ControllerProperties.shn(cc) != ControllerProperties.SHN_NONE) {
            boolean complete = nowNanos - configuredNanos >= shutdownNanos;
            shutDown |= complete;
            csts = ControllerProperties.csts(
                    true, false, complete ? ControllerProperties.SHST_COMPLETE : ControllerProperties.SHST_OCCURRING);
            return;
        }
        if (ControllerProperties.fatal(csts) || nowNanos - configuredNanos < readyNanos) {
            return;
        }
        csts |= ControllerProperties.CSTS_RDY;
        List.copyOf(queues.entrySet()).forEach(entry -> fetch(entry.getKey(), entry.getValue()));
        execute();
    }

    private void execute() {
        for (int i = random.nextInt(4); i > 0 && !fetched.isEmpty(); i--) {
            Fetched command = fetched.remove(random.nextInt(fetched.size()));
            if (command.qid() == 0) {
                administer(command);
            } else if (loses > 0 && random.nextInt(loses) == 0) {
                lost.add(command);
            } else if (fails > 0 && random.nextInt(fails) == 0) {
                complete(command, failure, 0);
            } else {
                complete(command, transfer(command.entry()), 0);
            }
        }
    }

    private void fetch(int qid, SimulatedQueue queue) {
        while (queue.submissionHead != queue.submissionTail) {
            Fetched command = queue.fetch(qid, this::at);
            if (SubmissionQueueEntry.psdt(command.entry(), 0) != 0) {
                if (qid == 0 || sgls == 0) {
                    throw new AssertionError("a command of queue " + qid + " with an SGL");
                }
                described++;
            }
            fetched.add(command);
        }
    }

    private void complete(Fetched command, int status, int result) {
        Objects.requireNonNull(queues.get(command.qid())).complete(command, status, result, this::at);
    }

    private void administer(Fetched command) {
        MemorySegment entry = command.entry();
        int opcode = SubmissionQueueEntry.opcode(entry, 0);
        if (opcode == ignores) {
            return;
        }
        switch (opcode) {
            case AdminOpcode.IDENTIFY -> complete(command, identify(entry), 0);
            case AdminOpcode.SET_FEATURES -> setFeature(command);
            case AdminOpcode.GET_LOG_PAGE -> {
                at(SubmissionQueueEntry.prp1(entry, 0), PAGE_BYTES).fill((byte) 0);
                logPages++;
                complete(command, NvmeStatus.SUCCESS, 0);
            }
            case AdminOpcode.DELETE_IO_SQ -> {
                int qid = CreateQueueCommand.qid(entry, 0);
                if (fetched.stream().anyMatch(one -> one.qid() == qid)) {
                    throw new AssertionError("queue " + qid + " is deleted with commands in it");
                }
                Objects.requireNonNull(queues.get(qid)).submissionEntries = 0;
                complete(command, NvmeStatus.SUCCESS, 0);
            }
            case AdminOpcode.DELETE_IO_CQ -> {
                if (Objects.requireNonNull(queues.remove(CreateQueueCommand.qid(entry, 0))).submissionEntries != 0) {
                    throw new AssertionError("a completion queue is deleted before its submission queue");
                }
                complete(command, NvmeStatus.SUCCESS, 0);
            }
            case AdminOpcode.CREATE_IO_CQ -> {
                SimulatedQueue queue = new SimulatedQueue();
                queue.completions = SubmissionQueueEntry.prp1(entry, 0);
                queue.completionEntries = CreateQueueCommand.entries(entry, 0);
                queues.put(CreateQueueCommand.qid(entry, 0), queue);
                complete(command, NvmeStatus.SUCCESS, 0);
            }
            case AdminOpcode.CREATE_IO_SQ -> {
                SimulatedQueue queue = Objects.requireNonNull(queues.get(CreateQueueCommand.completionQid(entry, 0)));
                queue.submissions = SubmissionQueueEntry.prp1(entry, 0);
                queue.submissionEntries = CreateQueueCommand.entries(entry, 0);
                long bytes = (long) queue.submissionEntries * SubmissionQueueEntry.SIZE_BYTES;
                complete(command, cmb == null ? NvmeStatus.SUCCESS : cmb.takeQueue(queue.submissions, bytes), 0);
            }
            case AdminOpcode.ABORT -> abort(command);
            case AdminOpcode.ASYNCHRONOUS_EVENT_REQUEST -> events.add(command);
            default -> complete(command, NvmeStatus.INVALID_OPCODE | NvmeStatus.DNR, 0);
        }
    }

    private void setFeature(Fetched command) {
        if (FeaturesCommand.fid(command.entry(), 0) == Feature.ASYNCHRONOUS_EVENT_CONFIGURATION) {
            reported = FeaturesCommand.value(command.entry(), 0);
            complete(command, NvmeStatus.SUCCESS, 0);
        } else {
            complete(
                    command,
                    queues.size() > 1 ? NvmeStatus.COMMAND_SEQUENCE_ERROR | NvmeStatus.DNR : NvmeStatus.SUCCESS,
                    FeaturesCommand.numberOfQueues(granted, granted));
        }
    }

    private void abort(Fetched command) {
        int qid = AbortCommand.sqid(command.entry(), 0);
        int cid = AbortCommand.cid(command.entry(), 0);
        Fetched found = lost.stream()
                .filter(one -> one.qid() == qid && one.cid() == cid)
                .findFirst()
                .orElse(null);
        if (found != null) {
            lost.remove(found);
            complete(found, NvmeStatus.ABORT_REQUESTED, 0);
        }
        complete(command, NvmeStatus.SUCCESS, AbortCommand.result(found != null));
    }

    /** Ends an event request, if there is one, and the driver wants such events. */
    synchronized boolean raise(int event) {
        if (AsyncEvent.type(event) == AsyncEvent.TYPE_SMART && (reported & AsyncEvent.CRITICAL_WARNINGS) == 0) {
            throw new AssertionError("the driver does not want to hear of critical warnings");
        }
        if (event == AsyncEvent.NAMESPACE_ATTRIBUTE_CHANGED
                && (reported & AsyncEvent.NOTICE_NAMESPACE_ATTRIBUTE) == 0) {
            throw new AssertionError("the driver does not want to hear of namespaces");
        }
        if (events.isEmpty()) {
            return false;
        }
        complete(events.removeFirst(), NvmeStatus.SUCCESS, event);
        return true;
    }

    private int identify(MemorySegment entry) {
        MemorySegment page = at(SubmissionQueueEntry.prp1(entry, 0), PAGE_BYTES);
        page.fill((byte) 0);
        int cns = IdentifyCommand.cns(entry, 0);
        if (version < ControllerProperties.version(1, 2, 0)
                && cns > (version == ControllerProperties.version(1, 0, 0) ? 1 : 3)) {
            throw new AssertionError("an older controller is asked for its " + Cns.name(cns));
        }
        switch (cns) {
            case Cns.CONTROLLER ->
                new IdentifyController()
                        .sn("SIMULATED")
                        .mn("simulated")
                        .mdts(mdts)
                        .oncs(oncs)
                        .oaes(AsyncEvent.NOTICE_NAMESPACE_ATTRIBUTE)
                        .vwc(vwc)
                        .sgls(sgls)
                        .rtd3e(rtd3e)
                        .nn(1)
                        .write(page, 0);
            case Cns.ACTIVE_NAMESPACE_LIST -> page.set(ValueLayout.JAVA_INT, 0, 1);
            case Cns.NAMESPACE -> {
                if (refusesNamespace) {
                    return NvmeStatus.INVALID_NAMESPACE_OR_FORMAT | NvmeStatus.DNR;
                }
                namespace.write(page, 0);
            }
            case Cns.COMMAND_SET_CONTROLLER -> {
                if (limits == null) {
                    return NvmeStatus.INVALID_FIELD | NvmeStatus.DNR;
                }
                limits.write(page, 0);
            }
            default -> {
                return NvmeStatus.INVALID_FIELD | NvmeStatus.DNR;
            }
        }
        return NvmeStatus.SUCCESS;
    }

    private int transfer(MemorySegment entry) {
        return medium.execute(
                entry,
                length -> pieces(entry, length),
                namespace.lbaFormat().blockSizeBytes(),
                namespace.noiob(),
                limits == null ? new IdentifyControllerNvm() : limits);
    }

    private List<MemorySegment> pieces(MemorySegment entry, long length) {
        if (mdts > 0 && length > (long) PAGE_BYTES << mdts) {
            throw new AssertionError(length + " bytes are more than MDTS " + mdts);
        }
        List<MemorySegment> pieces = SimulatedPointers.pieces(entry, length, sgls, this::at);
        if (cmb != null) {
            cmb.check(entry, pieces);
        }
        return pieces;
    }
}

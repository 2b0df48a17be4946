package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.DatasetManagementCommand;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.ReadWriteCommand;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.target.spi.BackendLane;
import org.nvmf4j.target.spi.BackendMapping;
import org.nvmf4j.target.spi.BackendOperation;
import org.nvmf4j.target.spi.BackendRequest;
import org.nvmf4j.target.spi.BackendStatus;
import org.nvmf4j.target.spi.PeerBlock;

/**
 * A lane's queue pair of a drive, for one namespace. A request becomes as many commands as the drive's limits ask for; those for which
 * there is no room, or no queue during a reset, wait in order. Data goes to and from mapped memory by itself; what is not mapped passes
 * through pieces of memory of the lane's own. A command's data is all in one memory, its PRP list, if it has one, in host memory.
 */
final class NvmeLane implements BackendLane, NvmeQueue.Handler {
    private static final System.Logger LOG = System.getLogger(NvmeLane.class.getName());
    private static final int ENTRIES = 256;
    private static final long TIMEOUT_NANOS = 30_000_000_000L;
    private static final int MAX_LOGGED_STATUSES = 10;

    private final NvmeBackend backend;
    private final NvmeDrive drive;
    private final NvmeNamespace namespace;
    private final NvmeIoQueue io;
    private final NvmeQueue queue;
    private final BouncePieces bounce;
    /** Bits of an address on the bus that must be 0. */
    private final int addressMask;
    /** By slot. */
    private final @Nullable Transfer[] transfers;

    private final long[] dataAt;
    private final int[] dataLength;
    private final int[] piece;

    private @Nullable Transfer spare;
    private @Nullable Transfer first;
    private @Nullable Transfer last;
    private long nowNanos;
    private int loggedStatuses;

    private NvmeLane(NvmeBackend backend, NvmeIoQueue io, BouncePieces bounce) {
        this.backend = backend;
        drive = backend.drive();
        namespace = backend.namespace();
        this.io = io;
        this.queue = io.queue();
        this.bounce = bounce;
        addressMask = drive.controller().dataAlignmentBytes() - 1;
        int slots = queue.entries() - 1;
        transfers = new Transfer[slots];
        dataAt = new long[slots];
        dataLength = new int[slots];
        piece = new int[slots];
        nowNanos = drive.hardware().pace().nanoTime();
    }

    /**
     * Opens a queue pair, which runs once the control thread has created it.
     *
     * @param places see {@link NvmeController#openQueue(int, CmbQueues, Runnable)}
     * @throws IOException with one line, if there is no queue or no memory left
     */
    static NvmeLane open(NvmeBackend backend, @Nullable CmbQueues places, Runnable wakeUp) throws IOException {
        NvmeDrive drive = backend.drive();
        BouncePieces bounce = BouncePieces.allocate(drive.hardware().dma());
        try {
            return new NvmeLane(backend, drive.controller().openQueue(ENTRIES, places, wakeUp), bounce);
        } catch (IOException e) {
            bounce.close();
            throw e;
        }
    }

    NvmeQueue queue() {
        return queue;
    }

    /** A request on its way: how far its commands are. */
    private static final class Transfer {
        private @Nullable Transfer next;
        private @Nullable BackendRequest request;
        /** From the beginning of the request: what commands have been submitted for. */
        private long submittedBytes;

        private long lengthBytes;
        private int outstanding;
        private int status;
        private boolean lost;

        BackendRequest request() {
            BackendRequest own = request;
            if (own == null) {
                throw new IllegalStateException("a transfer without a request");
            }
            return own;
        }

        boolean isFailed() {
            return lost || !NvmeStatus.isSuccess(status);
        }
    }

    /** Memory as the drive finds it, or not. */
    private static final class Mapping implements BackendMapping {
        private static final long NONE = -1;

        private final long busAddress;
        private final @Nullable DmaMemory memory;

        Mapping(long busAddress, @Nullable DmaMemory memory) {
            this.busAddress = busAddress;
            this.memory = memory;
        }

        @Override
        public void close() {
            if (memory != null) {
                memory.close();
            }
        }
    }

    @Override
    public BackendMapping map(MemorySegment memory, @Nullable PeerBlock block) {
        if (block != null && drive.hardware().isOwnMemory(block)) {
            return new Mapping(block.busAddress().orElseThrow(), null);
        }
        if (io.isUnusable()) {
            return new Mapping(Mapping.NONE, null);
        }
        try {
            DmaMemory mapped = drive.hardware().dma().map(memory);
            return new Mapping(mapped.busAddress(), mapped);
        } catch (IOException e) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "data for drive " + drive.address() + " is copied, since " + memory.byteSize()
                            + " bytes cannot be mapped for it: " + e.getMessage());
            return new Mapping(Mapping.NONE, null);
        }
    }

    @Override
    public BackendStatus submit(BackendRequest request) {
        if (io.isUnusable() && !io.isRunning()) {
            return HostStatus.tell(request, NvmeController.ENDED_FOR_GOOD);
        }
        if (backend.isChanged()) {
            return HostStatus.tell(request, NvmeBackend.CHANGED_STATUS);
        }
        switch (request.operation()) {
            case FLUSH -> {
                if (!namespace.volatileWriteCache()) {
                    return BackendStatus.SUCCESS;
                }
            }
            case DEALLOCATE -> {
                if (!namespace.deallocates()) {
                    return BackendStatus.SUCCESS;
                }
            }
            default -> {}
        }
        append(request);
        submitWaiting();
        return BackendStatus.PENDING;
    }

    private void append(BackendRequest request) {
        Transfer transfer = spare;
        if (transfer == null) {
            transfer = new Transfer();
        } else {
            spare = transfer.next;
        }
        transfer.next = null;
        transfer.request = request;
        transfer.submittedBytes = 0;
        transfer.lengthBytes = request.lengthBytes();
        transfer.outstanding = 0;
        transfer.status = NvmeStatus.SUCCESS;
        transfer.lost = false;
        if (last == null) {
            first = transfer;
        } else {
            last.next = transfer;
        }
        last = transfer;
    }

    @Override
    public int poll(long nowNanos) {
        this.nowNanos = nowNanos;
        int work = io.poll(nowNanos, this);
        if (first != null) {
            if (io.isUnusable() && !io.isRunning()) {
                endWaiting();
            } else {
                submitWaiting();
            }
        }
        return work;
    }

    private void endWaiting() {
        for (Transfer transfer = first; transfer != null; transfer = first) {
            transfer.status = NvmeController.ENDED_FOR_GOOD;
            removeFirst(transfer);
            endIfDone(transfer);
        }
    }

    // From requests to commands.

    private void submitWaiting() {
        for (Transfer transfer = first; transfer != null && io.isRunning(); transfer = first) {
            while (!transfer.isFailed() && !isAllSubmitted(transfer)) {
                if (!submitNext(transfer)) {
                    queue.ring();
                    return;
                }
            }
            removeFirst(transfer);
            endIfDone(transfer);
        }
        queue.ring();
    }

    private static boolean isAllSubmitted(Transfer transfer) {
        return transfer.submittedBytes > 0 && transfer.submittedBytes >= transfer.lengthBytes;
    }

    private void removeFirst(Transfer transfer) {
        first = transfer.next;
        if (first == null) {
            last = null;
        }
        transfer.next = null;
    }

    /** Submits one command, unless the request fails; false if there is no room now. */
    private boolean submitNext(Transfer transfer) {
        if (backend.isChanged()) {
            transfer.status = NvmeBackend.CHANGED_STATUS;
            return true;
        }
        BackendRequest request = transfer.request();
        long busAddress = busAddress(request);
        boolean bounces = needsBounce(request, busAddress);
        int taken = bounces ? bounce.take() : BouncePieces.NONE;
        int slot = bounces && taken == BouncePieces.NONE ? -1 : queue.take();
        if (slot < 0) {
            bounce.give(taken);
            return false;
        }
        long at = transfer.submittedBytes;
        long length = nextLength(request, at, bounces);
        transfers[slot] = transfer;
        dataAt[slot] = at;
        dataLength[slot] = (int) Math.min(length, Integer.MAX_VALUE);
        piece[slot] = taken;
        if (bounces && !fill(request, at, length, taken)) {
            transfer.lost = true;
            queue.giveBack(slot);
            release(slot);
            return true;
        }
        write(request, slot, at, length, bounces ? bounce.busAddress(taken) : busAddress + at);
        transfer.submittedBytes += Math.max(1, length); // a flush has no length
        transfer.outstanding++;
        queue.submit(slot, nowNanos + TIMEOUT_NANOS);
        return true;
    }

    private static long busAddress(BackendRequest request) {
        return request.mapping() instanceof Mapping mapping && mapping.busAddress != Mapping.NONE
                ? mapping.busAddress + request.segmentOffset()
                : Mapping.NONE;
    }

    private boolean needsBounce(BackendRequest request, long busAddress) {
        return switch (request.operation()) {
            case READ, WRITE -> isOutOfReach(busAddress);
            case COMPARE -> isOutOfReach(busAddress) || !namespace.compares();
            case DEALLOCATE -> true;
            case FLUSH, WRITE_ZEROES -> false;
        };
    }

    private boolean isOutOfReach(long busAddress) {
        return busAddress == Mapping.NONE || (busAddress & addressMask) != 0;
    }

    private long nextLength(BackendRequest request, long at, boolean bounces) {
        long left = request.lengthBytes() - at;
        int shift = namespace.blockShift();
        if (request.operation() == BackendOperation.DEALLOCATE) {
            return Math.min(left, namespace.maxDeallocatedBlocks() << shift);
        }
        boolean zeroes = request.operation() == BackendOperation.WRITE_ZEROES;
        if (zeroes && namespace.writesZeroes()) {
            return Math.min(left, (long) namespace.maxZeroesBlocks() << shift);
        }
        long length = Math.min(left, (long) namespace.maxTransferBlocks() << shift);
        if (bounces) {
            length = Math.min(length, BouncePieces.PIECE_BYTES);
        } else if (zeroes) {
            length = Math.min(length, NvmeDrive.ZEROES_BYTES);
        }
        long boundary = (long) namespace.boundaryBlocks() << shift;
        if (boundary > 0) {
            length = Math.min(length, boundary - (request.offsetBytes() + at) % boundary);
        }
        return length;
    }

    /** Puts into a piece what the drive is to fetch there; false if the data has vanished. */
    private boolean fill(BackendRequest request, long at, long length, int taken) {
        return switch (request.operation()) {
            case WRITE -> request.copyFromData(at, bounce.segment(), bounce.offset(taken), length);
            case COMPARE ->
                !namespace.compares() || request.copyFromData(at, bounce.segment(), bounce.offset(taken), length);
            case DEALLOCATE -> {
                DatasetManagementCommand.writeRange(
                        bounce.segment(),
                        bounce.offset(taken),
                        (request.offsetBytes() + at) >>> namespace.blockShift(),
                        (int) (length >>> namespace.blockShift()));
                yield true;
            }
            default -> true;
        };
    }

    private void write(BackendRequest request, int slot, long at, long length, long busAddress) {
        MemorySegment commands = queue.commands();
        long to = queue.commandAt();
        int nsid = namespace.nsid();
        switch (request.operation()) {
            case FLUSH -> SubmissionQueueEntry.write(commands, to, IoOpcode.FLUSH, slot, nsid);
            case DEALLOCATE -> {
                DatasetManagementCommand.write(commands, to, slot, nsid, 1, DatasetManagementCommand.AD_DEALLOCATE);
                queue.data(slot, busAddress, DatasetManagementCommand.RANGE_SIZE_BYTES);
            }
            case READ, WRITE, COMPARE, WRITE_ZEROES -> {
                int shift = namespace.blockShift();
                ReadWriteCommand.write(
                        commands,
                        to,
                        opcode(request.operation()),
                        slot,
                        nsid,
                        (request.offsetBytes() + at) >>> shift,
                        (int) (length >>> shift),
                        request.forceUnitAccess());
                if (request.operation() != BackendOperation.WRITE_ZEROES) {
                    queue.data(slot, busAddress, length);
                } else if (!namespace.writesZeroes()) {
                    queue.data(slot, drive.zeroes().busAddress(), length);
                }
            }
        }
    }

    private int opcode(BackendOperation operation) {
        return switch (operation) {
            case READ -> IoOpcode.READ;
            case COMPARE -> namespace.compares() ? IoOpcode.COMPARE : IoOpcode.READ;
            case WRITE_ZEROES -> namespace.writesZeroes() ? IoOpcode.WRITE_ZEROES : IoOpcode.WRITE;
            default -> IoOpcode.WRITE;
        };
    }

    // From completions to ends.

    @Override
    public void ended(int slot, int status, int result) {
        Transfer transfer = transfers[slot];
        if (transfer == null) {
            throw new IllegalStateException("slot " + slot + " has no transfer");
        }
        BackendRequest request = transfer.request();
        int taken = piece[slot];
        if (!NvmeStatus.isSuccess(status)) {
            log(request, status);
            if (!transfer.isFailed()) {
                transfer.status = status;
            }
        } else if (taken != BouncePieces.NONE) {
            takeData(transfer, taken, dataAt[slot], dataLength[slot]);
        }
        release(slot);
        transfer.outstanding--;
        if (transfer != first) {
            endIfDone(transfer);
        }
    }

    /** What the drive has put into a piece goes where it belongs, or is compared. */
    private void takeData(Transfer transfer, int taken, long at, int length) {
        BackendRequest request = transfer.request();
        if (request.operation() == BackendOperation.READ) {
            transfer.lost |= !request.copyToData(bounce.segment(), bounce.offset(taken), at, length);
        } else if (request.operation() == BackendOperation.COMPARE
                && !transfer.isFailed()
                && !request.isSame(bounce.segment(), bounce.offset(taken), at, length)) {
            transfer.status = NvmeStatus.COMPARE_FAILURE | NvmeStatus.DNR;
        }
    }

    private void release(int slot) {
        transfers[slot] = null;
        bounce.give(piece[slot]);
        piece[slot] = BouncePieces.NONE;
    }

    /** Ends the request if no command of it is left; it does not wait for room any more. */
    private void endIfDone(Transfer transfer) {
        if (transfer.outstanding > 0) {
            return;
        }
        BackendRequest request = transfer.request();
        int status = backend.isChanged() ? NvmeBackend.CHANGED_STATUS : transfer.status;
        boolean lost = transfer.lost;
        transfer.request = null;
        transfer.next = spare;
        spare = transfer;
        if (lost) {
            request.complete(BackendStatus.DATA_LOST);
        } else if (NvmeStatus.isSuccess(status)) {
            request.complete(BackendStatus.SUCCESS);
        } else {
            request.complete(HostStatus.tell(request, status));
        }
    }

    private void log(BackendRequest request, int status) {
        if (HostStatus.isOurs(status) && loggedStatuses < MAX_LOGGED_STATUSES) {
            loggedStatuses++;
            LOG.log(
                    System.Logger.Level.WARNING,
                    request.operation() + " of " + request.lengthBytes() + " bytes at " + request.offsetBytes()
                            + " of namespace " + namespace.nsid() + " of drive " + drive.address() + ": "
                            + NvmeStatus.describe(status)
                            + (loggedStatuses == MAX_LOGGED_STATUSES ? " (no further ones are logged)" : ""));
        }
    }

    @Override
    public boolean hasOutstanding() {
        return first != null || queue.outstanding() > 0;
    }

    @Override
    public void close() {
        io.close();
        bounce.close();
        drive.lookSoon();
    }
}

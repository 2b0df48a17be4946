package org.nvmf4j.target;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.SglDescriptor;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.target.spi.BackendOperation;
import org.nvmf4j.target.spi.BackendRequest;
import org.nvmf4j.target.spi.BackendStatus;

/**
 * One command slot of a queue: the capsule in it, the data that belongs to it, and how far it is. Made with the queue and used for one
 * command after the other; belongs to the queue's lane, except while a backend has it.
 */
final class Request extends BackendRequest {
    /** No particular field of the command is to blame. */
    static final int NO_LOCATION = 0xffff;

    private static final VarHandle WITH_BACKEND;

    static {
        try {
            WITH_BACKEND = MethodHandles.lookup().findVarHandle(Request.class, "withBackend", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final RequestOwner owner;
    private final int slot;
    private final MemorySegment capsules;
    private final long commandOffset;
    private final long inCapsuleOffset;
    private @Nullable ByteBuffer viewOfCapsules;

    RequestState state = RequestState.POSTED;
    /** Links of the one list that it is in, see {@link RequestList}. */
    @Nullable
    Request previous;

    @Nullable
    Request next;
    /** Link of the stack by which backends hand it back. */
    @Nullable
    Request nextCompleted;

    private int inCapsuleBytes;
    private DataDirection direction = DataDirection.NONE;
    private int transferBytes;
    private boolean moreIsFine;
    private boolean wantsPeerMemory;
    private boolean hasInCapsuleData;
    private @Nullable DataBuffer buffer;
    private MemorySegment memory = MemorySegment.NULL;
    private long memoryOffset;
    private int lkey;
    /** Bytes whose RDMA READ is posted, and bytes whose READ is done. */
    int readPostedBytes;

    int readDoneBytes;

    @Nullable
    Namespace namespace;
    /** A backend has the request, or has ended it and the lane has not seen that yet. */
    boolean awaitsBackend;

    /** For commands of several parts. */
    int part;

    private int status;
    private int location;
    private long result;
    private boolean withBackend;
    private BackendStatus backendStatus = BackendStatus.SUCCESS;

    /**
     * A slot.
     *
     * @param capsules memory that holds commands and in-capsule data
     * @param commandOffset where the slot's 64-byte command is in it
     * @param inCapsuleOffset where its in-capsule data is
     */
    Request(RequestOwner owner, int slot, MemorySegment capsules, long commandOffset, long inCapsuleOffset) {
        this.owner = owner;
        this.slot = slot;
        this.capsules = capsules;
        this.commandOffset = commandOffset;
        this.inCapsuleOffset = inCapsuleOffset;
    }

    int slot() {
        return slot;
    }

    RequestOwner owner() {
        return owner;
    }

    int qid() {
        return owner.qid();
    }

    /** Memory with the command at {@link #at}. */
    MemorySegment capsule() {
        return capsules;
    }

    /** Where the submission queue entry begins. */
    long at() {
        return commandOffset;
    }

    int opcode() {
        return SubmissionQueueEntry.opcode(capsules, commandOffset);
    }

    int commandId() {
        return SubmissionQueueEntry.commandId(capsules, commandOffset);
    }

    int nsid() {
        return SubmissionQueueEntry.nsid(capsules, commandOffset);
    }

    /** A capsule of that length, at least 64 bytes, has arrived in the slot. */
    void begin(int capsuleBytes) {
        state = RequestState.RECEIVED;
        inCapsuleBytes = capsuleBytes - SubmissionQueueEntry.SIZE_BYTES;
        direction = DataDirection.NONE;
        transferBytes = 0;
        moreIsFine = false;
        wantsPeerMemory = false;
        hasInCapsuleData = false;
        memory = MemorySegment.NULL;
        memoryOffset = 0;
        readPostedBytes = 0;
        readDoneBytes = 0;
        namespace = null;
        part = 0;
        status = NvmeStatus.SUCCESS;
        location = NO_LOCATION;
        result = 0;
    }

    /** Says what data the command has. */
    void needs(DataDirection direction, int bytes) {
        this.direction = direction;
        this.transferBytes = bytes;
    }

    /** Says that the command has data from the host, of which the SGL may describe more. */
    void needsAtLeast(int bytes) {
        needs(DataDirection.FROM_HOST, bytes);
        moreIsFine = true;
    }

    /** Says that the data is to pass through peer memory, if there is some. */
    void wantPeerMemory() {
        wantsPeerMemory = true;
    }

    boolean wantsPeerMemory() {
        return wantsPeerMemory;
    }

    DataDirection direction() {
        return direction;
    }

    int transferBytes() {
        return transferBytes;
    }

    /** Every command must use one SGL and stand alone. */
    boolean hasValidFlags() {
        return SubmissionQueueEntry.flags(capsules, commandOffset) == SubmissionQueueEntry.FLAGS_SGL;
    }

    /** Checks the SGL against the data that the command needs; fails the request if it does not fit. */
    void checkSgl() {
        long sgl = commandOffset + SubmissionQueueEntry.DPTR_OFFSET;
        int problem = SglDescriptor.check(capsules, sgl, inCapsuleBytes);
        if (problem != NvmeStatus.SUCCESS) {
            fail(problem, SubmissionQueueEntry.DPTR_OFFSET);
            return;
        }
        long length = SglDescriptor.lengthBytes(capsules, sgl);
        if (length != transferBytes && !(moreIsFine && length > transferBytes)) {
            fail(NvmeStatus.DATA_SGL_LENGTH_INVALID | NvmeStatus.DNR, SubmissionQueueEntry.DPTR_OFFSET);
        } else if (direction == DataDirection.TO_HOST && SglDescriptor.isInCapsule(capsules, sgl)) {
            fail(NvmeStatus.INVALID_FIELD | NvmeStatus.DNR, SubmissionQueueEntry.DPTR_OFFSET);
        } else if (SglDescriptor.isInCapsule(capsules, sgl)) {
            hasInCapsuleData = true;
            memory = capsules;
            memoryOffset = inCapsuleOffset + SglDescriptor.address(capsules, sgl);
        }
    }

    /** Whether the data came along with the command; after {@link #checkSgl}. */
    boolean hasInCapsuleData() {
        return hasInCapsuleData;
    }

    long hostAddress() {
        return SglDescriptor.address(capsules, commandOffset + SubmissionQueueEntry.DPTR_OFFSET);
    }

    int hostKey() {
        return SglDescriptor.key(capsules, commandOffset + SubmissionQueueEntry.DPTR_OFFSET);
    }

    /** Whether the response must make {@link #hostKey} invalid. */
    boolean wantsInvalidate() {
        return hasValidFlags()
                && SglDescriptor.isInvalidate(capsules, commandOffset + SubmissionQueueEntry.DPTR_OFFSET);
    }

    /** Gives the request a buffer, which is its own until {@link #takeBuffer}. */
    void buffer(DataBuffer buffer) {
        this.buffer = buffer;
        memory = buffer.segment();
        memoryOffset = buffer.offset();
        lkey = buffer.lkey();
    }

    @Nullable
    DataBuffer buffer() {
        return buffer;
    }

    /** Parts with the buffer, which somebody else gives back. */
    @Nullable
    DataBuffer takeBuffer() {
        DataBuffer taken = buffer;
        buffer = null;
        return taken;
    }

    /** See {@link DataBuffer#isLost}. */
    boolean hasLostData(boolean suspicious) {
        DataBuffer own = buffer;
        return own != null && own.isLost(suspicious);
    }

    /** A backend has found that the memory of the data is gone. */
    void dataVanished() {
        DataBuffer own = buffer;
        if (own != null) {
            own.vanished();
        }
    }

    /** Uses registered memory that needs no giving back, from its beginning. */
    void borrow(MemorySegment segment, int lkey) {
        memory = segment;
        memoryOffset = 0;
        this.lkey = lkey;
    }

    /** Memory with the data at {@link #memoryAt}. */
    MemorySegment memory() {
        return memory;
    }

    long memoryAt() {
        return memoryOffset;
    }

    /** The key of {@link #memory} for work requests, unless the data is in the capsule. */
    int lkey() {
        return lkey;
    }

    /** Ends the command with an error. */
    void fail(int status) {
        this.status = status;
    }

    /** Ends the command with an error in the field that begins at a byte of the command. */
    void fail(int status, int location) {
        this.status = status;
        this.location = location;
    }

    boolean failed() {
        return status != NvmeStatus.SUCCESS;
    }

    int status() {
        return status;
    }

    /** The byte of the command that is to blame, or {@link #NO_LOCATION}. */
    int location() {
        return location;
    }

    /** Sets dwords 0 and 1 of the completion. */
    void result(long result) {
        this.result = result;
    }

    long result() {
        return result;
    }

    /** Sets up a backend operation without data. */
    void backendOperation(BackendOperation operation, long offsetBytes, long lengthBytes) {
        operation(operation, offsetBytes, lengthBytes);
    }

    /** Sets up a backend operation on the request's data. */
    void backendTransfer(BackendOperation operation, long offsetBytes, boolean forceUnitAccess) {
        operation(operation, offsetBytes, transferBytes);
        data(memory, memoryOffset, buffer != null && buffer.mayVanish());
        forceUnitAccess(forceUnitAccess);
    }

    /** Has the data, unless it is in the capsule, mapped for the lane's part of the backend that gets the request. */
    void mapFor(BackendLanes.Use use) {
        DataBuffer own = buffer;
        mapping(own == null ? null : own.mapping(use));
    }

    /** Says whether what the operation writes must be on the medium when it ends. */
    void onMedium(boolean forceUnitAccess) {
        forceUnitAccess(forceUnitAccess);
    }

    /** Marks that a backend may end the request from now on. */
    void handToBackend() {
        WITH_BACKEND.setRelease(this, true);
    }

    /** Takes the mark back: the backend has ended the request at once. */
    void keptFromBackend() {
        WITH_BACKEND.setRelease(this, false);
    }

    BackendStatus backendStatus() {
        return backendStatus;
    }

    @Override
    public void complete(BackendStatus status) {
        if (status == BackendStatus.PENDING) {
            throw new IllegalArgumentException("PENDING is not an end");
        }
        if (!WITH_BACKEND.compareAndSet(this, true, false)) {
            throw new IllegalStateException("the request has ended already");
        }
        backendStatus = status;
        owner.backendCompleted(this);
    }

    @Override
    protected ByteBuffer viewOfSegment() {
        DataBuffer own = buffer;
        if (own != null) {
            return own.view();
        }
        ByteBuffer view = viewOfCapsules;
        if (view == null) {
            view = capsules.asByteBuffer();
            viewOfCapsules = view;
        }
        return view;
    }
}

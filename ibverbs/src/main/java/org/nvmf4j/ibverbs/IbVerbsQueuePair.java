package org.nvmf4j.ibverbs;

import static org.nvmf4j.verbs.WorkCompletionStatus.LOCAL_PROTECTION_ERROR;
import static org.nvmf4j.verbs.WorkCompletionStatus.LOCAL_QP_OPERATION_ERROR;
import static org.nvmf4j.verbs.WorkCompletionStatus.SUCCESS;
import static org.nvmf4j.verbs.WorkCompletionStatus.WORK_REQUEST_FLUSHED;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.ibverbs.RdmaCore.Function;
import org.nvmf4j.verbs.QueuePairOptions;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;
import org.nvmf4j.verbs.spi.CompletionRing;
import org.nvmf4j.verbs.spi.ProviderQueuePair;
import org.nvmf4j.verbs.spi.QueuePairChecks;
import org.nvmf4j.verbs.spi.SharedReceives;

/**
 * A queue pair of a device. It remembers what is posted, since a device tells neither the user's id of what an unsignaled request was
 * nor, after a failure, its opcode, and grants more room than asked.
 *
 * <p>Two things devices do differently are done here for all: what is posted in the error state is flushed here (rdma_rxe never looks
 * at such receives, and not always at such sends), and an RDMA READ where the connection allows none fails (rdma_rxe would wait for
 * ever). And inline data that has vanished fails its request here, where the library would be killed by it.
 */
final class IbVerbsQueuePair implements ProviderQueuePair {
    private static final int QPT_RC = 2;
    private static final int QPS_INIT = 1;
    private static final int QPS_RTR = 2;
    private static final int QPS_RTS = 3;
    private static final int QPS_ERR = 6;
    private static final int MASK_STATE = 1;
    private static final int MASK_ACCESS = 1 << 3;
    private static final int MASK_PKEY = 1 << 4;
    private static final int MASK_PORT = 1 << 5;
    private static final int EVERY_ACCESS = 7;
    /** 0.64 ms between retries of a peer that found no receive here; 0, which rdma_cm has, means 655 ms. */
    private static final byte RNR_TIMER = 12;

    private final IbVerbsVector vector;
    private final RdmaCore core;
    private final HardwareQueue sendQueue;
    private final HardwareQueue receiveQueue;
    private final CompletionRing sendRing;
    private final CompletionRing receiveRing;
    private final @Nullable Object context;
    private final int key;
    private final int number;
    private final int inlineBytes;
    private final int maxSge;
    private final SendChain sends;
    private final ReceiveChain receives;
    private final @Nullable IbVerbsSharedReceives shared;
    private long pointer;

    private final int sendCapacity;
    private final int sendMask;
    private final long[] sendIds;
    private final WorkOpcode[] sendOpcodes;
    private final int[] sendLengths;
    private long sendsPosted;
    private long sendsCompleted;
    /** What the device does not get, from this position on, or −1. */
    private long withheldFrom = -1;

    private WorkCompletionStatus withheldStatus = LOCAL_QP_OPERATION_ERROR;
    /** Behind the last request that will surely make a completion. */
    private long lastCompletingEnd;

    private final int receiveCapacity;
    private final int receiveMask;
    private final long[] receiveIds;
    private long receivesPosted;
    /** Receives before this position are with the device. */
    private long receivesGiven;

    private long receivesCompleted;

    private QueuePairState state = QueuePairState.INIT;
    private boolean connecting;
    private boolean readsAllowed;
    /** The accepting side's connection until it is established. */
    private @Nullable IbVerbsConnection unconfirmed;

    IbVerbsQueuePair(IbVerbsVector vector, RdmaCore core, IbVerbsDomain domain, QueuePairOptions options, int inline)
            throws VerbsException {
        this.vector = vector;
        this.core = core;
        sendQueue = vector.queueOf(options.sendQueue());
        receiveQueue = vector.queueOf(options.receiveQueue());
        sendRing = sendQueue.ring();
        receiveRing = receiveQueue.ring();
        shared = SharedReceives.of(options, domain, IbVerbsSharedReceives.class);
        context = options.context();
        maxSge = options.maxSge();
        long domainPointer = domain.pointer();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(Abi.IbvQpInitAttr.SIZE, 8);
            attributes.set(ValueLayout.JAVA_LONG, Abi.IbvQpInitAttr.SEND_CQ, sendQueue.pointer());
            attributes.set(ValueLayout.JAVA_LONG, Abi.IbvQpInitAttr.RECV_CQ, receiveQueue.pointer());
            attributes.set(ValueLayout.JAVA_LONG, Abi.IbvQpInitAttr.SRQ, shared == null ? 0 : shared.pointer());
            attributes.set(ValueLayout.JAVA_INT, Abi.IbvQpInitAttr.CAP__MAX_SEND_WR, options.maxSendRequests());
            attributes.set(ValueLayout.JAVA_INT, Abi.IbvQpInitAttr.CAP__MAX_RECV_WR, options.maxReceiveRequests());
            attributes.set(ValueLayout.JAVA_INT, Abi.IbvQpInitAttr.CAP__MAX_SEND_SGE, maxSge);
            attributes.set(ValueLayout.JAVA_INT, Abi.IbvQpInitAttr.CAP__MAX_RECV_SGE, maxSge);
            attributes.set(ValueLayout.JAVA_INT, Abi.IbvQpInitAttr.CAP__MAX_INLINE_DATA, inline);
            attributes.set(ValueLayout.JAVA_INT, Abi.IbvQpInitAttr.QP_TYPE, QPT_RC);
            pointer = core.pointer(Function.IBV_CREATE_QP, domainPointer, attributes.address(), 0, 0, 0);
            inlineBytes = attributes.get(ValueLayout.JAVA_INT, Abi.IbvQpInitAttr.CAP__MAX_INLINE_DATA);
        }
        try {
            long contextPointer = vector.device().context();
            AbiCheck.queuePair(pointer, contextPointer, domainPointer, sendQueue.pointer(), receiveQueue.pointer());
            number = RdmaCore.intAt(pointer + Abi.IbvQp.QP_NUM);
            initialise();
            key = vector.queuePairs().add(this);
        } catch (VerbsException e) {
            destroy();
            throw e;
        }
        sendCapacity = options.maxSendRequests();
        sendMask = ringSize(sendCapacity) - 1;
        sendIds = new long[sendMask + 1];
        sendOpcodes = new WorkOpcode[sendMask + 1];
        sendLengths = new int[sendMask + 1];
        receiveCapacity = options.maxReceiveRequests();
        receiveMask = ringSize(receiveCapacity) - 1;
        receiveIds = new long[receiveMask + 1];
        sends = new SendChain(vector.device().context(), pointer, key, maxSge, domain, inlineBytes);
        receives = new ReceiveChain(vector.device(), Abi.IbvContext.OPS__POST_RECV, pointer, maxSge);
        sendRing.attach(this);
        receiveRing.attach(this);
        if (shared != null) {
            shared.attach();
        }
    }

    private static int ringSize(int capacity) {
        return capacity == 1 ? 1 : Integer.highestOneBit(capacity - 1) << 1;
    }

    private void initialise() throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(Abi.IbvQpAttr.SIZE, 8);
            attributes.set(ValueLayout.JAVA_INT, Abi.IbvQpAttr.QP_STATE, QPS_INIT);
            attributes.set(ValueLayout.JAVA_INT, Abi.IbvQpAttr.QP_ACCESS_FLAGS, EVERY_ACCESS);
            attributes.set(ValueLayout.JAVA_BYTE, Abi.IbvQpAttr.PORT_NUM, (byte)
                    vector.device().port());
            modify(attributes, MASK_STATE | MASK_PKEY | MASK_PORT | MASK_ACCESS);
        }
    }

    private void modify(MemorySegment attributes, int mask) throws VerbsException {
        core.check(Function.IBV_MODIFY_QP, pointer, attributes.address(), mask, 0);
    }

    IbVerbsVector vector() {
        return vector;
    }

    boolean uses(HardwareQueue queue) {
        return queue == sendQueue || queue == receiveQueue;
    }

    boolean uses(IbVerbsSharedReceives receives) {
        return receives == shared;
    }

    @Override
    public int number() {
        return number;
    }

    @Override
    public QueuePairState state() {
        return state;
    }

    @Override
    public int inlineBytes() {
        return inlineBytes;
    }

    /** Refuses a queue pair that cannot be connected, or not once more. */
    void checkConnectable() {
        QueuePairChecks.connectable(state, connecting);
    }

    void beginConnecting() {
        checkConnectable();
        connecting = true;
    }

    /** A queue pair that was refused is still in INIT and may try again. */
    void endConnecting() {
        connecting = false;
        unconfirmed = null;
    }

    /**
     * Takes the path and the numbers of a connection from its {@code rdma_cm_id}: state READY_TO_SEND.
     *
     * @param accepted the accepting side's connection, which a first message confirms
     */
    void establish(CmId id, int initiatorDepth, int responderResources, @Nullable IbVerbsConnection accepted)
            throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(Abi.IbvQpAttr.SIZE, 8);
            MemorySegment mask = arena.allocate(ValueLayout.JAVA_INT);
            for (int to : new int[] {QPS_INIT, QPS_RTR, QPS_RTS}) {
                attributes.fill((byte) 0);
                attributes.set(ValueLayout.JAVA_INT, Abi.IbvQpAttr.QP_STATE, to);
                core.check(Function.RDMA_INIT_QP_ATTR, id.pointer(), attributes.address(), mask.address(), 0);
                attributes.set(ValueLayout.JAVA_INT, Abi.IbvQpAttr.QP_ACCESS_FLAGS, EVERY_ACCESS);
                attributes.set(ValueLayout.JAVA_BYTE, Abi.IbvQpAttr.MAX_RD_ATOMIC, (byte) initiatorDepth);
                attributes.set(ValueLayout.JAVA_BYTE, Abi.IbvQpAttr.MAX_DEST_RD_ATOMIC, (byte) responderResources);
                attributes.set(ValueLayout.JAVA_BYTE, Abi.IbvQpAttr.MIN_RNR_TIMER, RNR_TIMER);
                modify(attributes, mask.get(ValueLayout.JAVA_INT, 0));
            }
        }
        readsAllowed = initiatorDepth > 0;
        unconfirmed = accepted;
        state = QueuePairState.READY_TO_SEND;
    }

    /** The connecting side has confirmed the connection. */
    void confirmed() {
        unconfirmed = null;
    }

    @Override
    public @Nullable SendWorkRequest postSend(SendWorkRequest first) {
        QueuePairChecks.canSend(state);
        QueuePairChecks.sends(first, maxSge, inlineBytes, sendCapacity - (sendsPosted - sendsCompleted));
        SendWorkRequest request = first;
        while (request != null) {
            int count = withheldFrom >= 0 || state == QueuePairState.ERROR ? 0 : fill(request);
            if (count == 0) {
                withhold(request);
                return null;
            }
            SendWorkRequest end = post(request, count);
            if (sends.isRefused()) {
                return end;
            }
            request = end;
        }
        return null;
    }

    /** Prepares as many as one call takes, but none that the device must not get; gives how many. */
    private int fill(SendWorkRequest first) {
        int count = 0;
        SendWorkRequest request = first;
        while (request != null && count < SendChain.MAX_CHAIN && mayGo(count, request)) {
            count++;
            request = request.next();
        }
        return count;
    }

    private boolean mayGo(int index, SendWorkRequest request) {
        if (request.opcode() == WorkOpcode.RDMA_READ && !readsAllowed) {
            withheldStatus = LOCAL_QP_OPERATION_ERROR;
            return false;
        }
        withheldStatus = LOCAL_PROTECTION_ERROR;
        return sends.set(index, (int) sendsPosted + index, request);
    }

    /** Posts what is prepared; gives the first that was not taken. */
    private @Nullable SendWorkRequest post(SendWorkRequest first, int count) {
        int taken = sends.post(count);
        SendWorkRequest request = first;
        for (int i = 0; i < taken && request != null; i++) {
            note(request);
            if (request.signaled()) {
                lastCompletingEnd = sendsPosted;
            }
            request = request.next();
        }
        sends.check(); // only now: what was taken before it will complete
        return request;
    }

    private void note(SendWorkRequest request) {
        int slot = (int) sendsPosted & sendMask;
        sendIds[slot] = request.id();
        sendOpcodes[slot] = request.opcode();
        sendLengths[slot] = (int) request.lengthBytes();
        sendsPosted++;
    }

    /** Keeps a request that must fail and all behind it from the device, and what is posted in the error state. */
    private void withhold(SendWorkRequest first) {
        if (withheldFrom < 0) {
            withheldFrom = sendsPosted;
        }
        for (SendWorkRequest request = first; request != null; request = request.next()) {
            note(request);
        }
        failWithheld();
    }

    /**
     * Fails them, once what the device has got is through as far as that shows. Of unsignaled requests at the end nobody knows: in the
     * error state they count as flushed, whose effects are unknown by definition, and should the device say so too, it is not heard.
     */
    private void failWithheld() {
        if (withheldFrom < 0 || sendsCompleted < lastCompletingEnd) {
            return;
        }
        WorkCompletionStatus status = WORK_REQUEST_FLUSHED;
        if (state != QueuePairState.ERROR) {
            status = withheldStatus;
            sendsCompleted = withheldFrom;
        }
        withheldFrom = -1;
        while (sendsCompleted < sendsPosted) {
            completeSend(sendsCompleted, status, 0);
            status = WORK_REQUEST_FLUSHED;
        }
        toError();
    }

    @Override
    public void postReceive(ReceiveWorkRequest first) {
        QueuePairChecks.canReceive(state, shared != null);
        QueuePairChecks.receives(first, maxSge, receiveCapacity - (receivesPosted - receivesCompleted));
        ReceiveWorkRequest request = first;
        while (request != null) {
            int chain = 0;
            while (request != null && chain < ReceiveChain.MAX_CHAIN) {
                receives.set(chain, QueuePairTable.receiveId(key), request);
                receiveIds[(int) receivesPosted & receiveMask] = request.id();
                receivesPosted++;
                chain++;
                request = request.next();
            }
            if (state != QueuePairState.ERROR) {
                receivesPosted -= chain - receives.post(chain);
                receivesGiven = receivesPosted;
                receives.check();
            }
        }
        flushReceives();
    }

    /** Flushes what was posted in the error state, behind what the device flushes. */
    private void flushReceives() {
        while (state == QueuePairState.ERROR
                && receivesCompleted >= receivesGiven
                && receivesCompleted < receivesPosted) {
            completeReceive(WORK_REQUEST_FLUSHED, 0, 0, 0);
        }
    }

    /** A send work request, named by the low bits of its position, has ended; so have those before it. */
    void onSent(int lowPosition, WorkCompletionStatus status, int vendorError) {
        long position = sendsCompleted + Integer.toUnsignedLong(lowPosition - (int) sendsCompleted);
        if (position >= sendsPosted) {
            return; // what cannot be: it was not posted, or is completed already
        }
        completeSend(position, status, vendorError);
        if (status != SUCCESS) {
            toError();
        }
        failWithheld();
    }

    private void completeSend(long position, WorkCompletionStatus status, int vendorError) {
        int slot = (int) position & sendMask;
        sendsCompleted = position + 1;
        int bytes = status == SUCCESS ? sendLengths[slot] : 0;
        sendRing.add(sendIds[slot], status, sendOpcodes[slot], bytes, number, 0, vendorError, context);
    }

    void onReceived(WorkCompletionStatus status, int lengthBytes, int invalidatedRkey, int vendorError) {
        if (!confirmBy(status)) {
            return;
        }
        if (receivesCompleted < receivesPosted) {
            completeReceive(status, status == SUCCESS ? lengthBytes : 0, invalidatedRkey, vendorError);
        }
        if (status != SUCCESS) {
            toError();
        }
        flushReceives();
    }

    /** The same for a receive from the shared queue, with its user's id. */
    void onSharedReceived(long id, WorkCompletionStatus status, int lengthBytes, int invalidatedRkey, int vendorError) {
        if (confirmBy(status)) {
            int bytes = status == SUCCESS ? lengthBytes : 0;
            receiveRing.add(id, status, WorkOpcode.RECEIVE, bytes, number, invalidatedRkey, vendorError, context);
            if (status != SUCCESS) {
                toError();
            }
        }
    }

    /** A first message confirms an accepted connection; false if that closed the queue pair. */
    private boolean confirmBy(WorkCompletionStatus status) {
        IbVerbsConnection accepted = unconfirmed;
        if (accepted != null && status == SUCCESS) {
            unconfirmed = null;
            accepted.onFirstMessage();
        }
        return state != QueuePairState.DESTROYED;
    }

    private void completeReceive(WorkCompletionStatus status, int lengthBytes, int invalidatedRkey, int vendorError) {
        long id = receiveIds[(int) receivesCompleted & receiveMask];
        receivesCompleted++;
        receiveRing.add(id, status, WorkOpcode.RECEIVE, lengthBytes, number, invalidatedRkey, vendorError, context);
    }

    @Override
    public void toError() {
        if (state == QueuePairState.ERROR || state == QueuePairState.DESTROYED) {
            return;
        }
        state = QueuePairState.ERROR;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(Abi.IbvQpAttr.SIZE, 8);
            attributes.set(ValueLayout.JAVA_INT, Abi.IbvQpAttr.QP_STATE, QPS_ERR);
            int errno = core.status(Function.IBV_MODIFY_QP, pointer, attributes.address(), MASK_STATE, 0);
            if (!vector.device().isGone(errno)) {
                vector.device().warn(Function.IBV_MODIFY_QP, errno);
            }
        }
    }

    /** The device tells no more what became of what it has, as it or its completion queue is gone: all of it is flushed. */
    void abandon() {
        toError();
        withheldFrom = -1;
        while (sendsCompleted < sendsPosted) {
            completeSend(sendsCompleted, WORK_REQUEST_FLUSHED, 0);
        }
        receivesGiven = receivesCompleted;
        flushReceives();
    }

    @Override
    public void close() {
        if (state == QueuePairState.DESTROYED) {
            return;
        }
        state = QueuePairState.DESTROYED;
        unconfirmed = null;
        vector.queuePairs().remove(key);
        sendRing.detach(this);
        receiveRing.detach(this);
        if (shared == null) {
            destroy();
            return;
        }
        receiveQueue.fetch(); // a device may drop what it has completed, and with it the slots of the shared queue
        destroy();
        receiveQueue.fetch(); // or keep what came since, which must not be taken for one of the number's next owner
        shared.detach();
    }

    private void destroy() {
        long closing = pointer;
        pointer = 0;
        vector.device().warn(Function.IBV_DESTROY_QP, core.status(Function.IBV_DESTROY_QP, closing, 0, 0, 0));
    }
}

package org.nvmf4j.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.nvmf4j.ibverbs.RdmaCore.Function;
import org.nvmf4j.linux.SystemErrors;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.spi.CompletionRing;

/** A device's completion queue, and the ring that its completions are moved to in batches by {@link #fetch}. */
final class HardwareQueue {
    private static final int BATCH = 32;
    private static final int WC_WITH_INV = 1 << 3;
    /** {@code enum ibv_wc_status} from 0 on. */
    private static final WorkCompletionStatus[] STATUSES = {
        WorkCompletionStatus.SUCCESS,
        WorkCompletionStatus.LOCAL_LENGTH_ERROR,
        WorkCompletionStatus.LOCAL_QP_OPERATION_ERROR,
        WorkCompletionStatus.GENERAL_ERROR, // local EEC operation
        WorkCompletionStatus.LOCAL_PROTECTION_ERROR,
        WorkCompletionStatus.WORK_REQUEST_FLUSHED,
        WorkCompletionStatus.GENERAL_ERROR, // memory window bind
        WorkCompletionStatus.GENERAL_ERROR, // bad response
        WorkCompletionStatus.LOCAL_PROTECTION_ERROR, // local access, for a receive
        WorkCompletionStatus.REMOTE_INVALID_REQUEST,
        WorkCompletionStatus.REMOTE_ACCESS_ERROR,
        WorkCompletionStatus.REMOTE_OPERATION_ERROR,
        WorkCompletionStatus.RETRY_EXCEEDED,
        WorkCompletionStatus.RNR_RETRY_EXCEEDED
    };

    private final IbVerbsVector vector;
    private final RdmaCore core;
    private final MemorySegment pollFunction;
    private final MemorySegment notifyFunction;
    private final MemorySegment completions = Arena.ofAuto().allocate((long) BATCH * Abi.IbvWc.SIZE, 8);
    private final long completionsAddress = completions.address();
    private final CompletionRing ring;
    private long queue;
    private boolean fetching;

    HardwareQueue(IbVerbsVector vector, RdmaCore core, long channel, int capacity) throws VerbsException {
        this.vector = vector;
        this.core = core;
        this.ring = vector.newRing(capacity, this);
        long context = vector.device().context();
        int room = ring.capacity();
        queue = core.pointer(
                Function.IBV_CREATE_CQ,
                context,
                room,
                0,
                channel,
                vector.index() % vector.device().hardwareVectors());
        AbiCheck.completionQueue(queue, context, channel, room);
        pollFunction = RdmaCore.functionAt(context + Abi.IbvContext.OPS__POLL_CQ);
        notifyFunction = RdmaCore.functionAt(context + Abi.IbvContext.OPS__REQ_NOTIFY_CQ);
    }

    CompletionRing ring() {
        return ring;
    }

    /** The library's pointer. */
    long pointer() {
        return queue;
    }

    /** Moves what has completed to the ring; gives how many. Nothing, where it is under way already. */
    int fetch() {
        if (fetching) {
            return 0;
        }
        fetching = true;
        try {
            return fetchAll();
        } finally {
            fetching = false;
        }
    }

    private int fetchAll() {
        int total = 0;
        int taken = BATCH;
        while (taken == BATCH && queue != 0) {
            taken = RdmaCore.fast(pollFunction, queue, BATCH, completionsAddress);
            for (int i = 0; i < taken; i++) {
                complete((long) i * Abi.IbvWc.SIZE);
            }
            total += Math.max(0, taken);
        }
        return total;
    }

    private void complete(long at) {
        long id = completions.get(ValueLayout.JAVA_LONG, at + Abi.IbvWc.WR_ID);
        boolean shared = QueuePairTable.isShared(id);
        IbVerbsQueuePair pair = shared
                ? vector.queuePairs().find(completions.get(ValueLayout.JAVA_INT, at + Abi.IbvWc.QP_NUM))
                : vector.queuePairs().get(id);
        long sharedId = shared ? vector.completeShared(id) : 0;
        if (pair == null) {
            return; // of a queue pair that is closed
        }
        int code = completions.get(ValueLayout.JAVA_INT, at + Abi.IbvWc.STATUS);
        WorkCompletionStatus status =
                code >= 0 && code < STATUSES.length ? STATUSES[code] : WorkCompletionStatus.GENERAL_ERROR;
        int vendorError = completions.get(ValueLayout.JAVA_INT, at + Abi.IbvWc.VENDOR_ERR);
        if (QueuePairTable.isReceive(id)) {
            int bytes = completions.get(ValueLayout.JAVA_INT, at + Abi.IbvWc.BYTE_LEN);
            boolean invalidates = (completions.get(ValueLayout.JAVA_INT, at + Abi.IbvWc.WC_FLAGS) & WC_WITH_INV) != 0;
            int rkey = invalidates ? completions.get(ValueLayout.JAVA_INT, at + Abi.IbvWc.INVALIDATED_RKEY) : 0;
            if (shared) {
                pair.onSharedReceived(sharedId, status, bytes, rkey, vendorError);
            } else {
                pair.onReceived(status, bytes, rkey, vendorError);
            }
        } else {
            pair.onSent((int) id, status, vendorError);
        }
    }

    /** Has the next completion make an event. */
    void askForEvent() {
        int result = RdmaCore.fast(notifyFunction, queue, 0, 0);
        if (Math.abs(result) == SystemErrors.EIO) {
            vector.device().onRemoved(); // this wakes the lane
        } else if (result != 0) {
            throw new IllegalStateException("ibv_req_notify_cq: errno " + Math.abs(result));
        }
    }

    /** Called by the ring when it is closed. */
    void destroy() {
        long closing = queue;
        queue = 0;
        if (closing != 0) {
            vector.remove(this);
            vector.device().warn(Function.IBV_DESTROY_CQ, core.status(Function.IBV_DESTROY_CQ, closing, 0, 0, 0));
        }
    }
}

package org.nvmf4j.verbs.spi;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.CompletionHandler;
import org.nvmf4j.verbs.CompletionQueue;
import org.nvmf4j.verbs.CompletionVector;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.WorkCompletion;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;

/**
 * The completion queue of software devices: a ring of fixed size that allocates nothing after its construction.
 *
 * <p>The completions of a queue pair leave the ring with it: {@link #detach} drops those not polled yet, so that no completion
 * carries the context of a closed queue pair (as hardware drivers clean a CQ when a QP is destroyed). A completion that finds the
 * ring full is lost, as on hardware, and counted; the queue pairs are moved to the error state at the provider's next {@link
 * #failQueuePairsIfOverflowed}, not in the midst of what completed.
 *
 * <p>Belongs to the lane of its vector.
 */
public final class CompletionRing implements CompletionQueue {
    /** More than any device here needs, and far from where a power of two would overflow. */
    private static final int MAX_CAPACITY = 1 << 22;

    private final CompletionVector vector;
    private final Consumer<? super CompletionRing> onClose;
    private final List<ProviderQueuePair> queuePairs = new ArrayList<>();
    private final WorkCompletion current = new WorkCompletion();
    private final int mask;
    private final long[] ids;
    private final WorkCompletionStatus[] statuses;
    private final WorkOpcode[] opcodes;
    private final int[] lengths;
    private final int[] queuePairNumbers;
    private final int[] invalidatedRkeys;
    private final int[] vendorErrors;
    private final @Nullable Object[] contexts;

    /** Counts completions taken out and put in; their difference is the size, their low bits are indexes. */
    private int head;

    private int tail;
    private long lost;
    private boolean overflowPending;
    private boolean polling;
    private boolean closed;

    /**
     * An empty ring.
     *
     * @param capacity completions it must hold, 1 to 2<sup>22</sup>; rounded up to a power of two
     * @param onClose told once when the ring is closed
     */
    public CompletionRing(CompletionVector vector, int capacity, Consumer<? super CompletionRing> onClose) {
        if (capacity < 1 || capacity > MAX_CAPACITY) {
            throw new IllegalArgumentException(
                    "a completion queue holds 1 to " + MAX_CAPACITY + " completions, not " + capacity);
        }
        int size = capacity == 1 ? 1 : Integer.highestOneBit(capacity - 1) << 1;
        this.vector = vector;
        this.onClose = onClose;
        this.mask = size - 1;
        ids = new long[size];
        statuses = new WorkCompletionStatus[size];
        opcodes = new WorkOpcode[size];
        lengths = new int[size];
        queuePairNumbers = new int[size];
        invalidatedRkeys = new int[size];
        vendorErrors = new int[size];
        contexts = new Object[size];
    }

    @Override
    public CompletionVector vector() {
        return vector;
    }

    @Override
    public int capacity() {
        return mask + 1;
    }

    /** Completions that wait to be polled. */
    public int size() {
        return tail - head;
    }

    /** Completions that found the ring full. */
    public long lostCompletions() {
        return lost;
    }

    /** Makes a queue pair one of those that this ring's overflow moves to the error state; once also where it is given twice. */
    public void attach(ProviderQueuePair queuePair) {
        checkOpen();
        if (!queuePairs.contains(queuePair)) {
            queuePairs.add(queuePair);
        }
    }

    void checkOpen() {
        if (closed) {
            throw new IllegalStateException("the completion queue is closed");
        }
    }

    /** Forgets a queue pair that is being closed and drops its completions; nothing happens if it is not attached. */
    public void detach(ProviderQueuePair queuePair) {
        if (queuePairs.remove(queuePair)) {
            drop(queuePair.number());
        }
    }

    /**
     * Appends a completion, to be handed over by a later {@link #poll} with just these values.
     *
     * @return false if the ring was full and the completion is lost
     */
    public boolean add(
            long id,
            WorkCompletionStatus status,
            WorkOpcode opcode,
            int lengthBytes,
            int queuePairNumber,
            int invalidatedRkey,
            int vendorError,
            @Nullable Object context) {
        if (tail - head > mask || closed) {
            lost++;
            overflowPending = true;
            return false;
        }
        int i = tail++ & mask;
        ids[i] = id;
        statuses[i] = status;
        opcodes[i] = opcode;
        lengths[i] = lengthBytes;
        queuePairNumbers[i] = queuePairNumber;
        invalidatedRkeys[i] = invalidatedRkey;
        vendorErrors[i] = vendorError;
        contexts[i] = context;
        return true;
    }

    /**
     * Moves the attached queue pairs to the error state if a completion was lost since the last call. A provider calls it in each
     * {@link CompletionVector#progress}, where it is safe to do so.
     *
     * @return whether there was an overflow
     */
    public boolean failQueuePairsIfOverflowed() {
        if (!overflowPending) {
            return false;
        }
        for (int i = queuePairs.size() - 1; i >= 0; i--) {
            if (i < queuePairs.size() && queuePairs.get(i).state() != QueuePairState.ERROR) {
                queuePairs.get(i).toError();
            }
        }
        overflowPending = false; // only now: flushes that found no room are part of the same overflow
        return true;
    }

    @Override
    public int poll(int max, CompletionHandler handler) {
        if (polling) {
            throw new IllegalStateException("a completion handler must not poll the queue that it is called from");
        }
        int wanted = Math.min(max, tail - head); // what handlers add comes with the next poll
        int handed = 0;
        polling = true;
        try {
            while (handed < wanted && head != tail) {
                takeInto(current);
                handed++;
                handler.onCompletion(current);
            }
        } finally {
            polling = false;
        }
        return handed;
    }

    private void takeInto(WorkCompletion completion) {
        int i = head++ & mask;
        completion.set(
                ids[i],
                statuses[i],
                opcodes[i],
                lengths[i],
                queuePairNumbers[i],
                invalidatedRkeys[i],
                vendorErrors[i],
                contexts[i]);
        contexts[i] = null;
    }

    /** Takes one queue pair's completions out and closes the gaps; the others keep their order. */
    private void drop(int queuePairNumber) {
        int to = head;
        for (int from = head; from != tail; from++) {
            int f = from & mask;
            if (queuePairNumbers[f] != queuePairNumber) {
                int t = to++ & mask;
                ids[t] = ids[f];
                statuses[t] = statuses[f];
                opcodes[t] = opcodes[f];
                lengths[t] = lengths[f];
                queuePairNumbers[t] = queuePairNumbers[f];
                invalidatedRkeys[t] = invalidatedRkeys[f];
                vendorErrors[t] = vendorErrors[f];
                contexts[t] = contexts[f];
            }
        }
        for (int i = to; i != tail; i++) {
            contexts[i & mask] = null;
        }
        tail = to;
    }

    /**
     * Frees the ring and drops what was not polled.
     *
     * @throws IllegalStateException if a queue pair still uses it
     */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        if (!queuePairs.isEmpty()) {
            throw new IllegalStateException("close the " + queuePairs.size()
                    + " queue pairs of the completion queue first, queue pair "
                    + queuePairs.getFirst().number() + " among them");
        }
        closed = true;
        Arrays.fill(contexts, null);
        head = tail;
        onClose.accept(this);
    }
}

package org.nvmf4j.verbs;

import org.jspecify.annotations.Nullable;

/**
 * What a user asks of a reliable-connected queue pair.
 *
 * @param sendQueue where sends complete
 * @param receiveQueue where receives complete; of the same vector as {@code sendQueue}
 * @param maxSendRequests send work requests outstanding at most
 * @param maxReceiveRequests receives posted at most
 * @param maxSge elements of a scatter/gather list at most
 * @param usualSendBytes small messages of up to this size are common; 0 if none are. What a device can do for them is the core's
 *     business
 * @param context given back by {@link WorkCompletion#context}
 * @param sharedReceives where its messages take their receives from, of the same vector and protection domain; then it has no receives of its
 *     own, and {@code maxReceiveRequests} is of no account
 */
public record QueuePairOptions(
        CompletionQueue sendQueue,
        CompletionQueue receiveQueue,
        int maxSendRequests,
        int maxReceiveRequests,
        int maxSge,
        int usualSendBytes,
        @Nullable Object context,
        @Nullable SharedReceiveQueue sharedReceives) {
    public QueuePairOptions {
        if (maxSendRequests < 1 || maxReceiveRequests < 1 || maxSge < 1 || usualSendBytes < 0) {
            throw new IllegalArgumentException("queue pair sizes must be positive: send " + maxSendRequests
                    + ", receive " + maxReceiveRequests + ", SGEs " + maxSge + ", usual send " + usualSendBytes);
        }
        if (sendQueue.vector() != receiveQueue.vector()) {
            throw new IllegalArgumentException("both completion queues must be of one vector");
        }
    }

    /** A queue pair with receives of its own. */
    public QueuePairOptions(
            CompletionQueue sendQueue,
            CompletionQueue receiveQueue,
            int maxSendRequests,
            int maxReceiveRequests,
            int maxSge,
            int usualSendBytes,
            @Nullable Object context) {
        this(sendQueue, receiveQueue, maxSendRequests, maxReceiveRequests, maxSge, usualSendBytes, context, null);
    }

    /** The same, with receives that it shares. */
    public QueuePairOptions withSharedReceives(SharedReceiveQueue shared) {
        return new QueuePairOptions(
                sendQueue, receiveQueue, maxSendRequests, 1, maxSge, usualSendBytes, context, shared);
    }
}

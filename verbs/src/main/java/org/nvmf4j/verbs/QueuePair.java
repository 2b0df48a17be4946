package org.nvmf4j.verbs;

import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.spi.ProviderQueuePair;

/**
 * A reliable-connected queue pair. Used only on the lane of its completion queues' vector.
 *
 * <p>Here the core decides what goes inline: a SEND or RDMA WRITE whose gathered length fits what the provider granted is
 * copied at post, everything else is posted by reference.
 */
public final class QueuePair implements AutoCloseable {
    private final ProviderQueuePair provider;
    private final int inlineBytes;

    QueuePair(ProviderQueuePair provider) {
        this.provider = provider;
        this.inlineBytes = provider.inlineBytes();
    }

    ProviderQueuePair provider() {
        return provider;
    }

    /** 24 bits, unique on the device. */
    public int number() {
        return provider.number();
    }

    public QueuePairState state() {
        return provider.state();
    }

    /** Messages of up to this many bytes go inline; 0 if none does. */
    public int inlineBytes() {
        return inlineBytes;
    }

    /**
     * Queues a chain of send work requests, which leave with the next {@link CompletionVector#progress}. In the error state they
     * are flushed. A buffer posted inline is free again when this returns; one posted by reference belongs to the device until
     * its request, or a later one of this queue, has completed.
     *
     * @throws IllegalStateException if the send queue has no room for the chain, or before the connection is established
     */
    public void postSend(SendWorkRequest first) {
        for (@Nullable SendWorkRequest request = first; request != null; request = request.next()) {
            request.inline(request.opcode().canBeInline() && request.lengthBytes() <= inlineBytes);
        }
        provider.postSend(first);
    }

    /**
     * Queues a chain of receives; their buffers belong to the device until they complete. In the error state they are flushed.
     *
     * @throws IllegalStateException if the receive queue has no room for the chain
     */
    public void postReceive(ReceiveWorkRequest first) {
        provider.postReceive(first);
    }

    /** Moves to {@link QueuePairState#ERROR}: everything posted completes as flushed, nothing more is sent or taken in. */
    public void toError() {
        provider.toError();
    }

    /** Destroys the queue pair. What is still posted does not complete any more, and buffers are free when this returns. */
    @Override
    public void close() {
        provider.close();
    }
}

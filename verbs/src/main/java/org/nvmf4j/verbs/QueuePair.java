package org.nvmf4j.verbs;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.spi.ProviderQueuePair;

/**
 * A reliable-connected queue pair. Used only on the lane of its completion queues' vector.
 *
 * <p>Here the core decides what goes inline: a SEND or RDMA WRITE whose gathered length fits what the provider granted is
 * copied at post, everything else is posted by reference. Should the device refuse at post what it granted, the message goes by
 * reference instead, and so does everything after it on this queue pair.
 */
public final class QueuePair implements AutoCloseable {
    private static final VarHandle INLINE_POSTS;
    private static final VarHandle REFERENCE_POSTS;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            INLINE_POSTS = lookup.findVarHandle(QueuePair.class, "inlinePosts", long.class);
            REFERENCE_POSTS = lookup.findVarHandle(QueuePair.class, "referencePosts", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final ProviderQueuePair provider;
    private final InlinePolicy policy;
    private int inlineBytes;
    /** Written by the lane, read by whoever asks for counters. */
    private long inlinePosts;

    private long referencePosts;

    QueuePair(ProviderQueuePair provider, int inlineBytes, InlinePolicy policy) {
        this.provider = provider;
        this.inlineBytes = inlineBytes;
        this.policy = policy;
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

    /**
     * Messages of up to this many bytes go inline; 0 if none does, from the beginning or since the device refused one. For those who
     * want to see what was decided; whether a message goes inline is not for a user to arrange.
     */
    public int inlineBytes() {
        return inlineBytes;
    }

    /**
     * Queues a chain of send work requests, which leave with the next {@link CompletionVector#progress}. In the error state they
     * are flushed.
     *
     * <p>By reference, the device looks up the lkeys and gathers the data when it sends, once more for each retransmission: the
     * memory belongs to it until the request, or a later one of this queue, has completed. Inline, lkeys are not looked at and the
     * memory is free again when this returns. Which of the two it is, the core decides; {@link SendWorkRequest#inline} tells
     * afterwards. So give valid lkeys always.
     *
     * @throws IllegalStateException if the send queue has no room for the chain, or before the connection is established. Some devices
     *     have taken the head of the chain then; who keeps to the sizes that the queue pair was created with never sees it
     */
    public void postSend(SendWorkRequest first) {
        decide(first);
        SendWorkRequest refused = provider.postSend(first);
        count(first, refused);
        if (refused != null) {
            postByReference(refused);
        }
    }

    private void decide(SendWorkRequest first) {
        for (@Nullable SendWorkRequest request = first; request != null; request = request.next()) {
            request.inline(isWorthCopying(request) && request.lengthBytes() <= inlineBytes);
        }
    }

    /** A message without data has nothing to copy and nothing to look up. */
    private static boolean isWorthCopying(SendWorkRequest request) {
        return request.opcode().canBeInline() && request.lengthBytes() > 0;
    }

    private void count(SendWorkRequest first, @Nullable SendWorkRequest end) {
        int inline = 0;
        int reference = 0;
        for (SendWorkRequest request = first; request != null && request != end; request = request.next()) {
            if (request.inline()) {
                inline++;
            } else if (isWorthCopying(request)) {
                reference++;
            }
        }
        INLINE_POSTS.setOpaque(this, inlinePosts + inline);
        REFERENCE_POSTS.setOpaque(this, referencePosts + reference);
    }

    /**
     * Posts what the device did not take, by reference; those before it in the chain were taken. Only if it is taken then, inline was
     * to blame and is switched off.
     */
    private void postByReference(SendWorkRequest refused) {
        int granted = inlineBytes;
        boolean wasInline = refused.inline();
        inlineBytes = 0;
        decide(refused);
        SendWorkRequest again = wasInline ? provider.postSend(refused) : refused;
        if (again == refused) {
            inlineBytes = granted;
            throw new IllegalStateException("the device has no room for a work request of " + refused.lengthBytes()
                    + " bytes: its send queue is full");
        }
        policy.onRefusedAtPost(this, refused.lengthBytes());
        count(refused, again);
        if (again != null) {
            throw new IllegalStateException("the device has no room for a work request of " + again.lengthBytes()
                    + " bytes: its send queue is full");
        }
    }

    /** SENDs and RDMA WRITEs posted inline so far; from any thread. */
    long inlinePosts() {
        return (long) INLINE_POSTS.getOpaque(this);
    }

    /** SENDs and RDMA WRITEs with data posted by reference so far; from any thread. */
    long referencePosts() {
        return (long) REFERENCE_POSTS.getOpaque(this);
    }

    /**
     * Queues a chain of receives; their buffers belong to the device until they complete. In the error state they are flushed.
     *
     * @throws IllegalStateException if the receive queue has no room for the chain, or is a {@link SharedReceiveQueue}
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
        policy.onClose(this);
        provider.close();
    }
}

package org.nvmf4j.verbs.spi;

import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;

/** What a provider does for {@link org.nvmf4j.verbs.QueuePair}; threading and errors are as said there. */
public interface ProviderQueuePair extends AutoCloseable {
    /** 24 bits. */
    int number();

    QueuePairState state();

    /** Inline capacity that was granted, in bytes: what was asked for, or more, or less. */
    int inlineBytes();

    /**
     * Takes a chain whose {@link SendWorkRequest#inline} marks say which data to copy now.
     *
     * @return null if all were taken; else the first one that the device had no room for, whatever it granted: those before it
     *     were taken, it and those behind it were not. So ends {@code ibv_post_send} with ENOMEM and its {@code bad_wr}
     */
    @Nullable
    SendWorkRequest postSend(SendWorkRequest first);

    void postReceive(ReceiveWorkRequest first);

    /** Moves to ERROR and flushes. */
    void toError();

    @Override
    void close();
}

package org.nvmf4j.verbs.spi;

import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;

/** What a provider does for {@link org.nvmf4j.verbs.QueuePair}; threading and errors are as said there. */
public interface ProviderQueuePair extends AutoCloseable {
    /** 24 bits. */
    int number();

    QueuePairState state();

    /** Inline capacity that was granted, in bytes. */
    int inlineBytes();

    /** Takes a chain whose {@link SendWorkRequest#inline} marks say which data to copy now. */
    void postSend(SendWorkRequest first);

    void postReceive(ReceiveWorkRequest first);

    /** Moves to ERROR and flushes. */
    void toError();

    @Override
    void close();
}

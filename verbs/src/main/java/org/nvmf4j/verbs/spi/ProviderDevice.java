package org.nvmf4j.verbs.spi;

import java.net.InetSocketAddress;
import java.util.Map;
import java.util.function.Consumer;
import org.nvmf4j.verbs.CompletionQueue;
import org.nvmf4j.verbs.CompletionVector;
import org.nvmf4j.verbs.Connection;
import org.nvmf4j.verbs.ConnectionHandler;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.DeviceAttributes;
import org.nvmf4j.verbs.Listener;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.QueuePairOptions;
import org.nvmf4j.verbs.SharedReceiveQueue;
import org.nvmf4j.verbs.VerbsException;

/** What a provider does for {@link org.nvmf4j.verbs.Device}; threading and errors are as said there. */
public interface ProviderDevice extends AutoCloseable {
    DeviceAttributes attributes();

    CompletionVector vector(int index);

    ProtectionDomain allocateProtectionDomain() throws VerbsException;

    CompletionQueue createCompletionQueue(int capacity, int vector) throws VerbsException;

    SharedReceiveQueue createSharedReceiveQueue(ProtectionDomain domain, int capacity, int maxSge, int vector)
            throws VerbsException;

    /**
     * Creates a queue pair in INIT.
     *
     * @param inlineBytes asked for; the provider may grant more, less or nothing, or refuse
     * @throws VerbsException with {@link VerbsException#EINVAL} or {@link VerbsException#ENOMEM} if less inline might be granted
     */
    ProviderQueuePair createQueuePair(ProtectionDomain domain, QueuePairOptions options, int inlineBytes)
            throws VerbsException;

    Connection connect(
            ProviderQueuePair queuePair,
            InetSocketAddress remote,
            ConnectionParameters parameters,
            ConnectionHandler handler)
            throws VerbsException;

    Listener listen(int port, Consumer<? super ProviderConnectionRequest> handler) throws VerbsException;

    /** See {@link org.nvmf4j.verbs.Device#counters}. */
    default Map<String, Long> counters() {
        return Map.of();
    }

    @Override
    void close();
}

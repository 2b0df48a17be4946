package org.nvmf4j.target.spi;

import java.util.List;

/** Knows the peer memories of a machine, and who can reach them. Thread-safe; looks again at each call, as devices come and go. */
public interface PeerMemoryProvider {
    /** All that there are now, published or not, in the order of their addresses. */
    List<? extends PeerMemory> memories();

    /** Whether a client can use one of {@link #memories}, and how far it is. */
    Reach reach(PeerMemory memory, PeerClient client);
}

package org.nvmf4j.verbs.loopback;

import java.util.ArrayList;
import java.util.List;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.QueuePairChecks;
import org.nvmf4j.verbs.spi.SharedReceives;

/** A shared receive queue: its queue pairs take from one ring. */
final class LoopbackSharedReceives extends SharedReceives {
    private final ReceiveQueue receives;
    private final List<LoopbackQueuePair> pairs = new ArrayList<>();

    LoopbackSharedReceives(LoopbackVector vector, ProtectionDomain domain, int capacity, int maxSge)
            throws VerbsException {
        super(vector.device().attributes(), vector, domain, capacity, maxSge);
        receives = new ReceiveQueue(capacity, maxSge);
    }

    ReceiveQueue receives() {
        return receives;
    }

    void attach(LoopbackQueuePair pair) {
        attach();
        pairs.add(pair);
    }

    void detach(LoopbackQueuePair pair) {
        detach();
        pairs.remove(pair);
    }

    @Override
    protected void post(ReceiveWorkRequest first) {
        QueuePairChecks.receives(first, maxSge(), receives.free());
        for (ReceiveWorkRequest request = first; request != null; request = request.next()) {
            receives.post(request);
        }
        for (int i = 0; i < pairs.size(); i++) {
            pairs.get(i).onReceivesPosted();
        }
    }

    @Override
    protected void release() {
        while (!receives.isEmpty()) {
            receives.remove();
        }
    }
}

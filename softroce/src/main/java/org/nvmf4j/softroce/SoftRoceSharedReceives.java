package org.nvmf4j.softroce;

import org.nvmf4j.roce.rc.ReceiveRing;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.spi.SharedReceives;

/** A shared receive queue of one vector. */
final class SoftRoceSharedReceives extends SharedReceives {
    private final ReceiveRing ring;

    SoftRoceSharedReceives(SoftRoceVector vector, ProtectionDomain domain, int capacity, int maxSge)
            throws VerbsException {
        super(vector.device().attributes(), vector, domain, capacity, maxSge);
        ring = new ReceiveRing(capacity, maxSge);
    }

    ReceiveRing ring() {
        return ring;
    }

    @Override
    protected void post(ReceiveWorkRequest first) {
        ring.post(first);
    }

    @Override
    protected void release() {
        ring.clear();
    }
}

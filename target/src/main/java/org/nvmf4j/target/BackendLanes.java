package org.nvmf4j.target;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.target.spi.BackendLane;
import org.nvmf4j.target.spi.BackendMapping;
import org.nvmf4j.target.spi.BackendStatus;
import org.nvmf4j.target.spi.PeerBlock;

/**
 * A lane's parts of the backends that have such: each from its first request on the lane until its namespace, or the lane, ends. Belongs
 * to the lane.
 */
final class BackendLanes {
    private static final LimitedLog WARNINGS = new LimitedLog(System.getLogger(BackendLanes.class.getName()));

    /** One of them, and the memory that is mapped for it. */
    static final class Use {
        private final Backend backend;
        private final BackendLane part;
        private final int index;
        private final List<BufferSlab> mapped = new ArrayList<>();

        private Use(Backend backend, BackendLane part, int index) {
            this.backend = backend;
            this.part = part;
            this.index = index;
        }

        /** Small, and no other's at the same time. */
        int index() {
            return index;
        }

        BackendMapping map(BufferSlab slab, MemorySegment memory, @Nullable PeerBlock block) {
            BackendMapping made = part.map(memory, block);
            mapped.add(slab);
            return made;
        }

        /** The memory is about to go. */
        void forget(BufferSlab slab) {
            mapped.remove(slab);
            slab.unmap(this);
        }

        private void close() {
            try {
                while (!mapped.isEmpty()) {
                    forget(mapped.getLast());
                }
            } finally {
                part.close();
            }
        }
    }

    private final Runnable wakeUp;
    private final List<Use> uses = new ArrayList<>();
    private final BitSet indexes = new BitSet();

    /**
     * None yet.
     *
     * @param wakeUp has the lane poll soon; from any thread
     */
    BackendLanes(Runnable wakeUp) {
        this.wakeUp = wakeUp;
    }

    boolean isEmpty() {
        return uses.isEmpty();
    }

    /** Hands a request over, see {@link BackendLane#submit}. */
    BackendStatus submit(Request request, Namespace namespace) {
        Use use = use(namespace.backend());
        if (use == null) {
            return BackendStatus.INTERNAL_ERROR;
        }
        request.mapFor(use);
        return use.part.submit(request);
    }

    private @Nullable Use use(Backend backend) {
        for (int i = 0; i < uses.size(); i++) {
            if (uses.get(i).backend == backend) {
                return uses.get(i);
            }
        }
        try {
            Use made = new Use(backend, backend.openLane(wakeUp), indexes.nextClearBit(0));
            indexes.set(made.index);
            uses.add(made);
            return made;
        } catch (IOException e) {
            WARNINGS.warning(backend.description() + ": " + e.getMessage());
            return null;
        }
    }

    /** Polls each; the fault of one costs the others nothing. */
    int poll(long nowNanos) {
        int work = 0;
        for (int i = 0; i < uses.size(); i++) {
            try {
                work += uses.get(i).part.poll(nowNanos);
            } catch (RuntimeException e) {
                WARNINGS.warning(uses.get(i).backend.description() + " failed unexpectedly: " + e);
            }
        }
        return work;
    }

    boolean hasOutstanding() {
        for (int i = 0; i < uses.size(); i++) {
            if (uses.get(i).part.hasOutstanding()) {
                return true;
            }
        }
        return false;
    }

    /** No request uses the backend any more. */
    void close(Backend backend) {
        for (int i = 0; i < uses.size(); i++) {
            if (uses.get(i).backend == backend) {
                Use use = uses.remove(i);
                indexes.clear(use.index);
                close(use);
                return;
            }
        }
    }

    /** The lane ends, and no request is left. */
    void close() {
        uses.forEach(BackendLanes::close);
        uses.clear();
        indexes.clear();
    }

    private static void close(Use use) {
        try {
            use.close();
        } catch (RuntimeException e) {
            WARNINGS.warning(use.backend.description() + " did not give its part of a lane back: " + e);
        }
    }
}

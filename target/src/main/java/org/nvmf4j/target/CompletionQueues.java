package org.nvmf4j.target;

import java.util.ArrayList;
import java.util.List;
import org.nvmf4j.verbs.CompletionHandler;
import org.nvmf4j.verbs.CompletionQueue;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.VerbsException;

/** The completion queues of a lane: few, each shared by as many queue pairs as it cannot overflow with. */
final class CompletionQueues {
    private static final int USUAL_CAPACITY = 8192;
    private static final int POLL_BATCH = 256;

    private final Device device;
    private final int vector;
    private final List<Shared> all = new ArrayList<>();

    CompletionQueues(Device device, int vector) {
        this.device = device;
        this.vector = vector;
    }

    /** A completion queue and how much of it is promised. */
    static final class Shared {
        private final CompletionQueue queue;
        private int promised;

        private Shared(CompletionQueue queue) {
            this.queue = queue;
        }

        CompletionQueue queue() {
            return queue;
        }
    }

    /** Finds or makes one with room for that many completions. */
    Shared acquire(int entries) throws VerbsException {
        for (Shared shared : all) {
            if (shared.queue.capacity() - shared.promised >= entries) {
                shared.promised += entries;
                return shared;
            }
        }
        Shared made = new Shared(device.createCompletionQueue(Math.max(entries, USUAL_CAPACITY), vector));
        made.promised = entries;
        all.add(made);
        return made;
    }

    void release(Shared shared, int entries) {
        shared.promised -= entries;
    }

    int poll(CompletionHandler handler) {
        int count = 0;
        for (int i = 0; i < all.size(); i++) {
            count += all.get(i).queue.poll(POLL_BATCH, handler);
        }
        return count;
    }

    void close() {
        for (Shared shared : all) {
            shared.queue.close();
        }
        all.clear();
    }
}

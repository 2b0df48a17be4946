package org.nvmf4j.target;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.target.backend.MemoryBackend;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.target.spi.BackendLane;
import org.nvmf4j.target.spi.BackendMapping;
import org.nvmf4j.target.spi.BackendRequest;
import org.nvmf4j.target.spi.BackendStatus;
import org.nvmf4j.target.spi.PeerBlock;

/**
 * Memory with a part for each lane that does requests as it is polled, from a seed, and watches that their data lies in memory that is
 * mapped there and stays so.
 */
class PolledMemory implements Backend {
    private final MemoryBackend memory;
    private final Random random;
    private final Set<Part> parts = new HashSet<>();
    /** A part that cannot be had for now. */
    boolean refuses;
    /** Requests wait as long as this is set. */
    boolean hangs;

    int partsEver;
    int mappingsEver;
    long inCapsule;

    PolledMemory(long sizeBytes, long seed) {
        memory = new MemoryBackend(sizeBytes);
        random = new Random(seed);
    }

    int parts() {
        return parts.size();
    }

    @Override
    public long sizeBytes() {
        return memory.sizeBytes();
    }

    @Override
    public int preferredBlockSizeBytes() {
        return 512;
    }

    @Override
    public int laneLimit() {
        return 4;
    }

    @Override
    public BackendLane openLane(Runnable wakeUp) throws IOException {
        if (refuses) {
            throw new IOException("as the test wants it");
        }
        Part part = new Part();
        parts.add(part);
        partsEver++;
        return part;
    }

    @Override
    public BackendStatus submit(BackendRequest request) {
        throw new AssertionError("a request for no lane");
    }

    @Override
    public String description() {
        return "polled memory";
    }

    @Override
    public void close() {
        if (!parts.isEmpty()) {
            throw new AssertionError(parts.size() + " parts were not closed");
        }
        memory.close();
    }

    private final class Part implements BackendLane {
        private final List<BackendRequest> waiting = new ArrayList<>();
        private final Set<Mapping> mappings = new HashSet<>();

        @Override
        public BackendMapping map(MemorySegment memory, @Nullable PeerBlock block) {
            if (((memory.address() | memory.byteSize()) & 4095) != 0) {
                throw new AssertionError("no pages: " + memory);
            }
            if (block != null && block.segment().address() != memory.address()) {
                throw new AssertionError("another block");
            }
            if (mappings.stream().anyMatch(one -> one.memory.equals(memory))) {
                throw new AssertionError("mapped twice: " + memory);
            }
            Mapping mapping = new Mapping(this, memory);
            mappings.add(mapping);
            mappingsEver++;
            return mapping;
        }

        @Override
        public BackendStatus submit(BackendRequest request) {
            if (!parts.contains(this)) {
                throw new AssertionError("a request after the end of the lane's part");
            }
            check(request);
            waiting.add(request);
            return BackendStatus.PENDING;
        }

        private void check(BackendRequest request) {
            BackendMapping mapping = request.mapping();
            if (mapping == null) {
                inCapsule += request.segment().equals(MemorySegment.NULL) ? 0 : 1;
            } else if (!mappings.contains((Mapping) mapping)
                    || !((Mapping) mapping).memory.equals(request.segment())
                    || request.segmentOffset() + request.lengthBytes()
                            > request.segment().byteSize()) {
                throw new AssertionError("data that is not mapped");
            }
        }

        @Override
        public int poll(long nowNanos) {
            int ended = 0;
            while (!hangs && !waiting.isEmpty() && random.nextInt(3) != 0) {
                BackendRequest request = waiting.remove(random.nextInt(waiting.size()));
                check(request);
                request.complete(memory.submit(request));
                ended++;
            }
            return ended;
        }

        @Override
        public boolean hasOutstanding() {
            return !waiting.isEmpty();
        }

        @Override
        public void close() {
            if (!waiting.isEmpty() || !mappings.isEmpty() || !parts.remove(this)) {
                throw new AssertionError(
                        "closed with " + waiting.size() + " requests and " + mappings.size() + " mappings, or twice");
            }
        }
    }

    private static final class Mapping implements BackendMapping {
        private final Part part;
        private final MemorySegment memory;

        Mapping(Part part, MemorySegment memory) {
            this.part = part;
            this.memory = memory;
        }

        @Override
        public void close() {
            if (!part.mappings.remove(this)) {
                throw new AssertionError("unmapped twice");
            }
        }
    }
}

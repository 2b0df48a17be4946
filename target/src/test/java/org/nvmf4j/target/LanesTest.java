package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nvmf4j.target.backend.FileBackend;
import org.nvmf4j.target.backend.FileBackendOptions;
import org.nvmf4j.target.backend.MemoryBackend;
import org.nvmf4j.testkit.Seeds;
import org.nvmf4j.verbs.IdleStrategy;

/** A target whose lanes run in threads of their own, with a backend that has threads, too. */
class LanesTest {
    private static final int SIZE = 2 << 20;
    private static final int QUEUES = 4;
    private static final int REGION_BYTES = SIZE / QUEUES;
    private static final IdleStrategy IDLE = new IdleStrategy(20_000, 100_000, 1_000_000_000L);

    @TempDir
    Path folder;

    @Test
    void keepsTheDataOfQueuesOnSeveralLanes() {
        Seeds.each(1, this::run);
    }

    private void run(long seed) throws IOException {
        Random random = new Random(seed);
        Subsystem subsystem = new Subsystem(RawHost.SUBSYSTEM_NQN);
        FileBackendOptions options = FileBackendOptions.DEFAULT.withCreateSizeBytes(SIZE);
        subsystem.addNamespace(Namespace.builder(1, new MemoryBackend(SIZE))
                .blockSizeBytes(4096)
                .build());
        subsystem.addNamespace(Namespace.builder(2, FileBackend.open(folder.resolve("disk" + seed), options))
                .blockSizeBytes(4096)
                .build());
        TargetOptions target =
                TargetOptions.builder().idle(IDLE).dataBufferBytes(8 << 20).build();
        try (RawHost host = new RawHost(target, 2, true, subsystem)) {
            host.connectAdmin();
            List<Worker> workers = new ArrayList<>();
            for (int i = 0; i < QUEUES; i++) {
                workers.add(new Worker(host, host.connectIo(i + 1, 8), i, random));
            }
            for (int i = 0; i < 800; i++) {
                workers.get(i % QUEUES).step();
            }
            workers.forEach(Worker::finish);
        }
    }

    /** One queue, with a part of both namespaces to itself, one command at a time. */
    private static final class Worker {
        private final RawHost host;
        private final RawQueue queue;
        private final long firstBlock;
        private final Random random;
        private final byte[][] model = {new byte[REGION_BYTES], new byte[REGION_BYTES]};
        private int pending = -1;
        private int pendingNsid;
        private int pendingOffset;
        private int pendingLength;
        private boolean pendingRead;

        Worker(RawHost host, RawQueue queue, int index, Random random) {
            this.host = host;
            this.queue = queue;
            this.firstBlock = (long) index * REGION_BYTES / 4096;
            this.random = random;
        }

        void step() {
            finish();
            pendingNsid = 1 + random.nextInt(2);
            int blocks = 1 + random.nextInt(random.nextInt(8) == 0 ? 64 : 4);
            int at = random.nextInt(REGION_BYTES / 4096 - blocks + 1);
            pendingOffset = at * 4096;
            pendingLength = blocks * 4096;
            pendingRead = random.nextBoolean();
            if (pendingRead) {
                queue.data.segment().asSlice(0, pendingLength).fill((byte) 0x5a);
                pending = host.sendRead(queue, pendingNsid, firstBlock + at, blocks, 0, pendingLength);
            } else {
                byte[] bytes = new byte[pendingLength];
                random.nextBytes(bytes);
                System.arraycopy(bytes, 0, model[pendingNsid - 1], pendingOffset, pendingLength);
                MemorySegment.copy(bytes, 0, queue.data.segment(), ValueLayout.JAVA_BYTE, 0, pendingLength);
                pending = host.sendWrite(queue, pendingNsid, firstBlock + at, blocks, 0, pendingLength);
            }
        }

        void finish() {
            if (pending < 0) {
                return;
            }
            assertThat(queue.await(pending).status()).isZero();
            if (pendingRead) {
                assertThat(queue.data.segment().asSlice(0, pendingLength).toArray(ValueLayout.JAVA_BYTE))
                        .isEqualTo(Arrays.copyOfRange(
                                model[pendingNsid - 1], pendingOffset, pendingOffset + pendingLength));
            }
            pending = -1;
        }
    }
}

package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nvmf4j.target.backend.FileBackend;
import org.nvmf4j.target.backend.FileBackendOptions;
import org.nvmf4j.target.backend.MemoryBackend;
import org.nvmf4j.target.backend.NullBackend;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.verbs.Lane;

/** What a lane of the target allocates for reads and writes in steady state: nothing. */
class AllocationTest {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int DEPTH = 32;
    private static final int WARM_UP = 300;
    private static final int ROUNDS = 300;
    /** The provider's mailbox takes a new piece of memory for every thousand messages. */
    private static final double NOTHING = 1.0;

    @TempDir
    Path folder;

    @Test
    void allocatesNothingPerReadAndWriteOfMemory() throws IOException {
        assertThat(bytesPerCommand(new MemoryBackend(1 << 20), 8)).isLessThan(NOTHING);
    }

    @Test
    void allocatesNothingPerReadAndWriteThroughPeerMemory() throws IOException {
        FakePeerMemory memory = new FakePeerMemory("0000:03:00.0", 1 << 20);
        Subsystem subsystem = new Subsystem(RawHost.SUBSYSTEM_NQN);
        subsystem.addNamespace(Namespace.builder(1, new MemoryBackend(1 << 20))
                .peerMemory(PeerMemoryChoice.AUTO)
                .build());
        FakePeerMachine machine = new FakePeerMachine(memory);
        try (RawHost host =
                new RawHost(TargetOptions.defaults(), 1, false, builder -> builder.peerMemory(machine), subsystem)) {
            assertThat(bytesPerCommand(host, 8)).isLessThan(NOTHING);
            assertThat(host.target.peerMemoryStatistics().buffers()).isPositive();
        }
    }

    @Test
    void allocatesNothingPerReadAndWriteOfABackendThatIsPolled() throws IOException {
        assertThat(bytesPerCommand(new PolledMemory(1 << 20, 1), 8)).isLessThan(NOTHING);
    }

    @Test
    void allocatesNothingPerLargeReadAndWriteOfNull() throws IOException {
        assertThat(bytesPerCommand(new NullBackend(1 << 20), 128)).isLessThan(NOTHING);
    }

    @Test
    void allocatesNothingPerReadAndWriteOfAFile() throws IOException {
        Backend file = FileBackend.open(
                folder.resolve("disk.img"),
                FileBackendOptions.DEFAULT
                        .withCreateSizeBytes(1 << 20)
                        .withBlockSizeBytes(512)
                        .withThreads(2));
        assertThat(bytesPerCommand(file, 8)).isLessThan(NOTHING);
    }

    /** Reads and writes in turn at a depth; returns what the target's lane allocated for each. */
    private static double bytesPerCommand(Backend backend, int blocks) throws IOException {
        Namespace namespace = Namespace.builder(1, backend).blockSizeBytes(512).build();
        try (RawHost host = RawHost.withNamespace(namespace)) {
            return bytesPerCommand(host, blocks);
        }
    }

    private static double bytesPerCommand(RawHost host, int blocks) throws IOException {
        host.connectAdmin();
        RawQueue io = host.connectIo(1, 64);
        Lane lane = host.targetLanes.getFirst();
        long allocated = 0;
        long before = 0;
        for (int round = 0; round < WARM_UP + ROUNDS; round++) {
            if (round == WARM_UP) {
                allocated = 0;
                before = host.target.statistics().commands();
            }
            int answered = io.answerCount + DEPTH;
            for (int i = 0; i < DEPTH; i++) {
                long slba = (long) i * blocks % 1024;
                if ((round & 1) == 0) {
                    host.sendWrite(io, 1, slba, blocks, 0, blocks * 512);
                } else {
                    host.sendRead(io, 1, slba, blocks, 0, blocks * 512);
                }
            }
            while (io.answerCount < answered) {
                long start = THREADS.getCurrentThreadAllocatedBytes();
                lane.doWork();
                allocated += THREADS.getCurrentThreadAllocatedBytes() - start;
                host.pumpHost();
            }
            io.forgetAnswers();
        }
        host.pumpUntilQuiet();
        return (double) allocated / (host.target.statistics().commands() - before);
    }
}

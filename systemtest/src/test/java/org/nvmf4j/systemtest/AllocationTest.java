package org.nvmf4j.systemtest;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nvmf4j.host.Controller;
import org.nvmf4j.host.Host;
import org.nvmf4j.host.HostException;
import org.nvmf4j.host.HostOptions;
import org.nvmf4j.host.IoHandler;
import org.nvmf4j.host.IoQueue;
import org.nvmf4j.host.Namespace;
import org.nvmf4j.host.RegisteredBuffer;
import org.nvmf4j.host.ThreadingMode;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.target.TargetOptions;
import org.nvmf4j.target.backend.MemoryBackend;
import org.nvmf4j.target.backend.NullBackend;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.verbs.IdleStrategy;

/** What an I/O allocates in steady state: nothing, neither on the host's polling thread nor on the target's lane. Here over software RoCE. */
class AllocationTest {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int NAMESPACE_BYTES = 32 << 20;
    private static final int DEPTH = 16;
    private static final int WINDOWS = 200;
    /** A lane that sleeps now and then makes a system call that is too rare to be compiled well, which then allocates. */
    private static final IdleStrategy NEVER_SLEEPS = new IdleStrategy(0, 0, 0);

    @ParameterizedTest(name = "{1} of {2} bytes, {0} backend")
    @CsvSource({
        "mem,  read,  4096,   1000",
        "mem,  write, 4096,   1000",
        "mem,  read,  131072, 100",
        "mem,  write, 131072, 100",
        "null, read,  131072, 100"
    })
    void allocatesNothing(String kind, String operation, int lengthBytes, int requests) throws Exception {
        Backend backend = kind.equals("mem") ? new MemoryBackend(NAMESPACE_BYTES) : new NullBackend(NAMESPACE_BYTES);
        TargetOptions options = TargetOptions.builder().idle(NEVER_SLEEPS).build();
        try (TargetNode node =
                        start(TargetNode.Setup.of(provider(), 512).with(backend).with(options));
                Host host = node.openHost(HostOptions.builder()
                        .threading(ThreadingMode.CALLER_THREAD)
                        .queueSize(DEPTH + 1));
                Controller controller = host.connect(node.address(), TargetNode.NQN);
                IoQueue queue = controller.openIoQueue();
                RegisteredBuffer buffer = host.allocate((long) DEPTH * lengthBytes)) {
            Load load = new Load(
                    queue, controller.namespace(TargetNode.NSID), buffer, operation.equals("write"), lengthBytes);
            long lane = threadId(node);
            // Until the compilers are done, what they have not compiled yet may allocate: an I/O that does, does so
            // always.
            long leastHost = Long.MAX_VALUE;
            long leastLane = Long.MAX_VALUE;
            for (int window = 0; window < WINDOWS && (leastHost > 0 || leastLane > 0); window++) {
                long hostBefore = THREADS.getCurrentThreadAllocatedBytes();
                long laneBefore = THREADS.getThreadAllocatedBytes(lane);
                load.run(requests);
                long laneAfter = THREADS.getThreadAllocatedBytes(lane);
                long hostAfter = THREADS.getCurrentThreadAllocatedBytes();
                leastHost = Math.min(leastHost, hostAfter - hostBefore);
                leastLane = Math.min(leastLane, laneAfter - laneBefore);
            }
            assertThat(leastHost)
                    .as("bytes that the host's thread allocates for %d requests", requests)
                    .isZero();
            assertThat(leastLane)
                    .as("bytes that the target's lane allocates for %d requests", requests)
                    .isZero();
        }
    }

    String provider() {
        return "softroce";
    }

    TargetNode start(TargetNode.Setup setup) throws IOException {
        return TargetNode.start(setup);
    }

    private static long threadId(TargetNode node) {
        CompletableFuture<Long> id = new CompletableFuture<>();
        node.lanes().getFirst().execute(() -> id.complete(Thread.currentThread().threadId()));
        return id.join();
    }

    /** Keeps requests of one kind outstanding, and allocates nothing itself. */
    private static final class Load implements IoHandler {
        private final IoQueue queue;
        private final Namespace namespace;
        private final RegisteredBuffer buffer;
        private final boolean write;
        private final int lengthBytes;
        private final int blocks;
        private int left;
        private int outstanding;

        Load(IoQueue queue, Namespace namespace, RegisteredBuffer buffer, boolean write, int lengthBytes)
                throws IOException {
            this.queue = queue;
            this.namespace = namespace;
            this.buffer = buffer;
            this.write = write;
            this.lengthBytes = lengthBytes;
            blocks = lengthBytes / namespace.blockBytes();
        }

        void run(int requests) throws HostException {
            left = requests;
            for (int slot = 0; slot < DEPTH; slot++) {
                submit(slot);
            }
            while (outstanding > 0) {
                queue.poll(this);
            }
        }

        private void submit(long slot) {
            boolean taken = write
                    ? queue.submitWrite(namespace, slot * blocks, blocks, buffer, slot * lengthBytes, slot)
                    : queue.submitRead(namespace, slot * blocks, blocks, buffer, slot * lengthBytes, slot);
            if (!taken) {
                throw new AssertionError("no room for request " + slot);
            }
            left--;
            outstanding++;
        }

        @Override
        public void onCompletion(long tag, int status) {
            if (!NvmeStatus.isSuccess(status)) {
                throw new AssertionError(NvmeStatus.describe(status));
            }
            outstanding--;
            if (left > 0) {
                submit(tag);
            }
        }
    }
}

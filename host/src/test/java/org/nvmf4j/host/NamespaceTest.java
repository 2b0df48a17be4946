package org.nvmf4j.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nvmf4j.host.FakeQueue.FakeCommand;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.NvmeStatusException;

@SuppressWarnings("NullAway.Init")
class NamespaceTest {
    private HostFixture fixture;
    private FakeTarget target;
    private Host host;
    private Controller controller;
    private Namespace namespace;

    @BeforeEach
    void start() throws IOException {
        fixture = new HostFixture();
        target = fixture.target;
        target.recording = false;
    }

    private void open(HostOptions options) throws IOException {
        host = fixture.open(options);
        controller = fixture.connect(host);
        namespace = controller.namespace(1);
    }

    private void open() throws IOException {
        open(HostFixture.options().ioQueues(2).build());
    }

    @AfterEach
    void stop() {
        if (host != null) {
            host.close();
        }
        fixture.close();
    }

    private static MemorySegment random(long seed, int length) {
        byte[] bytes = new byte[length];
        new Random(seed).nextBytes(bytes);
        return MemorySegment.ofArray(bytes);
    }

    @ParameterizedTest
    @ValueSource(ints = {512, 4096, 8192, 131_072, 1 << 20, 5 << 20})
    void writesAndReadsHeapMemoryOfAnySize(int length) throws IOException {
        open();
        MemorySegment data = random(length, length);
        namespace.write(11, data);
        assertThat(target.store(1).asSlice(11 * 512, length).mismatch(data)).isEqualTo(-1);
        MemorySegment back = MemorySegment.ofArray(new byte[length]);
        namespace.read(11, back);
        assertThat(back.mismatch(data)).isEqualTo(-1);
        namespace.flush();
    }

    @Test
    void usesRegisteredMemoryInPlaceHoweverItIsGiven() throws IOException {
        open();
        target.fillRandomly(1, 4);
        RegisteredBuffer buffer = host.register(Arena.ofAuto().allocate(1 << 20));
        namespace.read(0, buffer.segment().asSlice(4096, 8192));
        namespace.readAsync(16, 16, buffer, 12_288).join();
        assertThat(buffer.segment()
                        .asSlice(4096, 16_384)
                        .mismatch(target.store(1).asSlice(0, 16_384)))
                .isEqualTo(-1);
        namespace.writeAsync(100, 32, buffer, 4096).join();
        assertThat(target.store(1)
                        .asSlice(51_200, 16_384)
                        .mismatch(target.store(1).asSlice(0, 16_384)))
                .isEqualTo(-1);
    }

    @Test
    void servesManyThreadsAtATime() throws Exception {
        open(HostFixture.options().ioQueues(3).queueSize(8).build());
        target.fillRandomly(1, 5);
        ConcurrentLinkedQueue<String> wrong = new ConcurrentLinkedQueue<>();
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 6; t++) {
            Random random = new Random(t);
            threads.add(Thread.ofPlatform().start(() -> readAtRandom(random, wrong)));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(wrong).isEmpty();
    }

    private void readAtRandom(Random random, ConcurrentLinkedQueue<String> wrong) {
        try {
            for (int i = 0; i < 100; i++) {
                long lba = random.nextInt(1_000);
                MemorySegment memory = MemorySegment.ofArray(new byte[512 * (1 + random.nextInt(600))]);
                namespace.read(lba, memory);
                if (memory.mismatch(target.store(1).asSlice(lba * 512, memory.byteSize())) != -1) {
                    wrong.add("lba " + lba);
                }
            }
        } catch (IOException e) {
            wrong.add(e.toString());
        }
    }

    @Test
    void takesMoreAsynchronousRequestsThanTheQueueHasRoomFor() throws IOException {
        open(HostFixture.options().queueSize(4).build());
        target.fillRandomly(1, 6);
        List<MemorySegment> memories = new ArrayList<>();
        List<CompletableFuture<Void>> futures = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            MemorySegment memory = MemorySegment.ofArray(new byte[65_536]);
            memories.add(memory);
            futures.add(namespace.readAsync(i, memory));
        }
        for (int i = 0; i < 200; i++) {
            futures.get(i).join();
            assertThat(memories.get(i).mismatch(target.store(1).asSlice(i * 512L, 65_536)))
                    .isEqualTo(-1);
        }
    }

    @Test
    void saysWhatTheTargetAnswered() throws IOException {
        open();
        assertThatThrownBy(() -> namespace.read(namespace.blocks() - 1, MemorySegment.ofArray(new byte[1024])))
                .isInstanceOfSatisfying(
                        NvmeStatusException.class,
                        e -> assertThat(NvmeStatus.code(e.status())).isEqualTo(NvmeStatus.LBA_OUT_OF_RANGE))
                .hasMessageStartingWith("Read of 2 blocks at LBA 16383 of namespace 1: LBA Out of Range");
        namespace.read(0, MemorySegment.ofArray(new byte[512]));
    }

    @Test
    void refusesMemoryThatItCannotUse() throws IOException {
        open();
        assertThatThrownBy(() -> namespace.read(0, MemorySegment.ofArray(new byte[513])))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> namespace.read(0, MemorySegment.ofArray(new byte[0])))
                .isInstanceOf(IllegalArgumentException.class);
        MemorySegment readOnly = MemorySegment.ofArray(new byte[512]).asReadOnly();
        assertThatThrownBy(() -> namespace.read(0, readOnly)).isInstanceOf(IllegalArgumentException.class);
        namespace.write(0, readOnly);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment confined = arena.allocate(512);
            assertThatThrownBy(() -> namespace.read(0, confined))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("confined");
        }
    }

    @Test
    void endsEveryRequestWhenTheTargetIsLost() throws IOException {
        open(HostFixture.options().ioQueues(2).queueSize(4).build());
        target.script = command -> command.isIo();
        List<CompletableFuture<Void>> futures = new ArrayList<>();
        RegisteredBuffer buffer = host.allocate(1 << 20);
        for (int i = 0; i < 20; i++) {
            futures.add(namespace.readAsync(0, MemorySegment.ofArray(new byte[512 << (i % 10)])));
            futures.add(namespace.writeAsync(0, 1 + i, buffer, 0));
            futures.add(namespace.flushAsync());
        }
        target.withQueues(q -> {
            if (q.id() == 2) {
                q.disconnect();
            }
        });
        for (CompletableFuture<Void> future : futures) {
            assertThatThrownBy(future::join)
                    .isInstanceOf(CompletionException.class)
                    .hasCauseInstanceOf(TransportException.class)
                    .hasMessageContaining("I/O queue 2 to")
                    .hasMessageContaining("the target closed the connection");
        }
        assertThatThrownBy(() -> namespace.flush()).isInstanceOf(TransportException.class);
        assertThat(controller.lost()).isDone();
    }

    @Test
    void endsEveryRequestOnClose() throws IOException {
        open();
        target.script = command -> command.isIo();
        List<CompletableFuture<Void>> futures = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            futures.add(namespace.readAsync(i, MemorySegment.ofArray(new byte[4096])));
        }
        controller.close();
        assertThat(futures).allMatch(CompletableFuture::isCompletedExceptionally);
        CompletableFuture<Void> late = namespace.flushAsync();
        assertThatThrownBy(late::join)
                .hasCauseInstanceOf(HostException.class)
                .hasMessageContaining("the queue was closed");
        host.close();
        assertThatThrownBy(() -> namespace.flush()).isInstanceOf(HostException.class);
    }

    @Test
    void refusesToWaitOnTheThreadThatItWouldWaitFor() throws IOException {
        open(HostFixture.options().ioQueues(1).build());
        List<FakeCommand> held = new ArrayList<>();
        target.script = command -> command.isIo() && held.add(command);
        CompletableFuture<Void> nested = namespace
                .flushAsync()
                .thenRun(() -> assertThatThrownBy(() -> namespace.flush())
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("asynchronous form"));
        boolean[] answered = new boolean[1];
        HostFixture.waitFor("the flush", () -> {
            target.run(() -> answered[0] = !held.isEmpty());
            return answered[0];
        });
        target.run(() -> held.forEach(command -> command.complete(NvmeStatus.SUCCESS)));
        nested.join();
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 99})
    void saysThatANamespaceIsNotThere(int nsid) throws IOException {
        open();
        assertThatThrownBy(() -> controller.namespace(nsid))
                .isInstanceOf(HostException.class)
                .hasMessageContaining("namespace " + nsid + " of " + FakeTarget.NQN + " is not active");
    }
}

package org.nvmf4j.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.NvmeStatus;

/** Which thread may do what, and what happens when threads end or close things under each other. */
@SuppressWarnings("NullAway.Init")
class OwnershipTest {
    private HostFixture fixture;
    private FakeTarget target;

    @BeforeEach
    void start() throws IOException {
        fixture = new HostFixture();
        target = fixture.target;
    }

    @AfterEach
    void stop() {
        fixture.close();
    }

    private static <T> T onAnotherThread(Callable<T> body) throws Exception {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread thread = Thread.ofPlatform().start(() -> {
            try {
                result.complete(body.call());
            } catch (Throwable e) {
                result.completeExceptionally(e);
            }
        });
        thread.join();
        return result.get();
    }

    @Test
    void givesEachThreadAVectorAndNoThreadTheVectorOfAnother() throws Exception {
        try (Host host =
                fixture.open(HostFixture.callerOptions().ioQueues(3).vectors(2).build())) {
            Controller controller = fixture.connect(host);
            IoQueue mine = controller.openIoQueue();
            assertThat(controller.openIoQueue().id()).isEqualTo(2);
            assertThatThrownBy(() -> onAnotherThread(controller::openIoQueue))
                    .isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("belongs to another thread");
            mine.close();
        }
    }

    @Test
    void passesAVectorOnWhenItsThreadHasClosedItsQueue() throws Exception {
        try (Host host = fixture.open(HostFixture.callerOptions().build())) {
            Controller controller = fixture.connect(host);
            onAnotherThread(() -> {
                controller.openIoQueue().close();
                return null;
            });
            assertThat(controller.openIoQueue().id()).isEqualTo(1);
        }
    }

    @Test
    void endsTheQueueOfAThreadThatHasEnded() throws Exception {
        int[] statuses = new int[1];
        try (Host host = fixture.open(HostFixture.callerOptions().build())) {
            Controller controller = fixture.connect(host);
            target.script = command -> command.isIo();
            IoQueue queue = onAnotherThread(() -> {
                IoQueue opened = controller.openIoQueue();
                opened.poll((tag, status) -> statuses[0] += status);
                assertThat(opened.submitFlush(controller.namespace(1), 1)).isTrue();
                return opened;
            });
            controller.close();
            assertThat(queue.outstanding()).isZero();
            assertThat(statuses[0]).isEqualTo(NvmeStatus.ABORTED_BY_HOST);
        }
    }

    @Test
    void endsTheQueueOfAThreadThatPolls() throws Exception {
        CountDownLatch polling = new CountDownLatch(1);
        CompletableFuture<String> end = new CompletableFuture<>();
        try (Host host = fixture.open(HostFixture.callerOptions().build())) {
            Controller controller = fixture.connect(host);
            Thread thread = Thread.ofPlatform().start(() -> {
                try {
                    IoQueue queue = controller.openIoQueue();
                    while (true) {
                        queue.poll((tag, status) -> {});
                        polling.countDown();
                    }
                } catch (IOException e) {
                    end.complete(String.valueOf(e.getMessage()));
                }
            });
            polling.await();
            controller.close();
            thread.join();
            assertThat(end.join()).contains("I/O queue 1").contains("was closed");
        }
    }

    @Test
    void doesNotCloseTheDeviceUnderAThreadThatHoldsAQueue() throws Exception {
        Host host = fixture.open(HostFixture.callerOptions().build());
        Controller controller = fixture.connect(host);
        CountDownLatch opened = new CountDownLatch(1);
        CountDownLatch mayClose = new CountDownLatch(1);
        Thread thread = Thread.ofPlatform().start(() -> {
            try (IoQueue queue = controller.openIoQueue()) {
                assertThat(queue.id()).isEqualTo(1);
                opened.countDown();
                mayClose.await();
            } catch (IOException | InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        opened.await();
        assertThatThrownBy(host::close)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("still open");
        mayClose.countDown();
        thread.join();
        host.close();
    }

    @Test
    void closingTheHostEndsAConnectUnderWay() throws Exception {
        CountDownLatch reached = new CountDownLatch(1);
        target.script = command -> {
            if (command.queue.id() == 0 && command.opcode() == AdminOpcode.IDENTIFY) {
                reached.countDown();
                return true;
            }
            return false;
        };
        Host host = fixture.open(HostFixture.options().build());
        CompletableFuture<String> end = new CompletableFuture<>();
        Thread thread = Thread.ofPlatform().start(() -> {
            try {
                fixture.connect(host);
                end.complete("connected");
            } catch (IOException e) {
                end.complete(String.valueOf(e.getMessage()));
            }
        });
        reached.await();
        host.close();
        thread.join();
        assertThat(end.join()).contains("Identify controller").contains("the queue was closed");
        assertThatThrownBy(() -> fixture.connect(host)).hasMessageContaining("the host is closed");
        host.close();
    }

    @Test
    void saysThatANameDoesNotResolve() throws IOException {
        try (Host host = fixture.open(HostFixture.options().build())) {
            InetSocketAddress nowhere = InetSocketAddress.createUnresolved("no-such-host.invalid", 4420);
            assertThatThrownBy(() -> host.connect(nowhere, FakeTarget.NQN))
                    .isInstanceOf(HostException.class)
                    .hasMessageContaining("unknown host no-such-host.invalid");
            fixture.connect(host).close();
        }
    }
}

package org.nvmf4j.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class DescriptorWaiterTest {
    /** Longer than any test may take: who waits so long in vain fails. */
    private static final long LONG_NANOS = TimeUnit.SECONDS.toNanos(60);

    private static final long LIMIT_NANOS = LONG_NANOS / 2;

    @BeforeEach
    void needsSystemCalls() {
        Assumptions.assumeTrue(DescriptorWaiter.problem().isEmpty(), DescriptorWaiter.problem());
    }

    private static int counter(int value) {
        return LibC.eventfd(LibC.newErrnoState(), value, 0);
    }

    private static void close(int fd) {
        LibC.close(LibC.newErrnoState(), fd);
    }

    @Test
    void aDescriptorWithSomethingToReadEndsTheWait() throws Exception {
        int fd = counter(1);
        try (DescriptorWaiter waiter = new DescriptorWaiter(fd)) {
            long start = System.nanoTime();
            waiter.await(LONG_NANOS);
            waiter.await(LONG_NANOS); // it still has
            assertThat(System.nanoTime() - start).isLessThan(LIMIT_NANOS);
        } finally {
            close(fd);
        }
    }

    @Test
    void aWakeUpEndsTheNextWaitOrOneThatHasBegun() throws Exception {
        int fd = counter(0);
        try (DescriptorWaiter waiter = new DescriptorWaiter(fd)) {
            long start = System.nanoTime();
            waiter.wake();
            waiter.wake();
            waiter.await(LONG_NANOS);
            Thread waker = Thread.ofPlatform().daemon().start(waiter::wake);
            waiter.await(LONG_NANOS);
            waker.join();
            assertThat(System.nanoTime() - start).isLessThan(LIMIT_NANOS);
        } finally {
            close(fd);
        }
    }

    @Test
    void theTimeEndsAWait() throws Exception {
        int fd = counter(0);
        try (DescriptorWaiter waiter = new DescriptorWaiter(fd)) {
            waiter.await(1);
            waiter.await(0);
        } finally {
            close(fd);
        }
    }

    /** That the wait takes its time shows that the descriptor did not end it. */
    @Test
    void descriptorsThatAreIgnoredEndNoWait() throws Exception {
        int fd = counter(1);
        try (DescriptorWaiter waiter = new DescriptorWaiter(fd)) {
            waiter.ignoreDescriptors();
            long nanos = 20_000_000;
            long start = System.nanoTime();
            waiter.await(nanos);
            assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(nanos);
            waiter.wake();
            waiter.await(LONG_NANOS);
            assertThat(System.nanoTime() - start).isLessThan(LIMIT_NANOS);
        } finally {
            close(fd);
        }
    }

    @Test
    void readsThatWouldWaitFailWhereADescriptorIsNonBlocking() throws Exception {
        int fd = counter(0);
        try {
            DescriptorWaiter.setNonBlocking(fd);
            var room = java.lang.foreign.Arena.ofAuto().allocate(8, 8);
            assertThat(LibC.read(LibC.newErrnoState(), fd, room.address(), 8)).isEqualTo(-SystemErrors.EAGAIN);
        } finally {
            close(fd);
        }
        assertThatThrownBy(() -> DescriptorWaiter.setNonBlocking(Integer.MAX_VALUE))
                .isInstanceOf(LinuxException.class)
                .hasMessageContaining("EBADF");
    }

    @Test
    void closingTwiceAndWakingAClosedOneDoNothing() throws Exception {
        DescriptorWaiter waiter = new DescriptorWaiter();
        waiter.close();
        waiter.close();
        waiter.wake();
    }
}

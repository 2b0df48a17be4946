package org.nvmf4j.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class LaneTest {
    private static final long LIMIT_SECONDS = 30;
    /** Waits longer than a test may take, so that a lost wake-up fails it. */
    private static final IdleStrategy SLEEPY = new IdleStrategy(0, 0, TimeUnit.SECONDS.toNanos(10 * LIMIT_SECONDS));

    private final VectorDouble vector = new VectorDouble();
    private final Lane lane = new Lane(vector, SLEEPY);
    private final List<String> log = new ArrayList<>();

    @AfterEach
    void closeLane() {
        lane.close();
    }

    private Agent logging(String name) {
        return now -> {
            log.add(name);
            return 0;
        };
    }

    @Test
    void runsTheVectorThenTasksThenAgents() {
        vector.onProgress = () -> log.add("vector");
        lane.add(logging("one"));
        lane.add(logging("two"));
        lane.execute(() -> log.add("task"));
        assertThat(lane.doWork()).isEqualTo(1);
        assertThat(log).containsExactly("vector", "task", "one", "two");
        assertThat(lane.doWork()).isZero();
    }

    @Test
    void countsTheWorkOfAll() {
        vector.work = 2;
        lane.add(now -> 3);
        lane.execute(() -> {});
        assertThat(lane.doWork()).isEqualTo(6);
    }

    @Test
    void leavesATaskThatATaskExecutesToTheNextCycle() {
        Runnable again = new Runnable() {
            @Override
            public void run() {
                log.add("task");
                lane.execute(this);
            }
        };
        lane.execute(again);
        lane.doWork();
        assertThat(log).hasSize(1);
        lane.doWork();
        assertThat(log).hasSize(2);
    }

    @Test
    void anAgentMayTakeItselfOut() {
        lane.add(logging("one"));
        Agent once = new Agent() {
            @Override
            public int doWork(long nowNanos) {
                log.add("once");
                lane.remove(this);
                return 1;
            }
        };
        lane.add(once);
        lane.add(logging("two"));
        lane.doWork();
        lane.doWork();
        assertThat(log).containsExactly("one", "once", "two", "one", "two");
    }

    @Test
    void anAgentMayTakeOthersOutBeforeAndAfterIt() {
        Agent first = logging("first");
        Agent last = logging("last");
        lane.add(first);
        lane.add(now -> {
            log.add("remover");
            lane.remove(first);
            lane.remove(last);
            return 1;
        });
        lane.add(logging("middle"));
        lane.add(last);
        lane.doWork();
        assertThat(log).containsExactly("first", "remover", "middle");
        lane.doWork();
        assertThat(log).containsExactly("first", "remover", "middle", "remover", "middle");
    }

    @Test
    void anAddedAgentRunsFromTheNextCycleOn() {
        lane.add(now -> {
            if (log.isEmpty()) {
                lane.add(logging("added"));
            }
            log.add("adder");
            return 0;
        });
        lane.doWork();
        assertThat(log).containsExactly("adder");
        lane.doWork();
        assertThat(log).containsExactly("adder", "adder", "added");
    }

    @Test
    void anAgentThatThrowsDoesNotKeepTheOthersFromWork() {
        lane.add(now -> {
            throw new IllegalStateException("always");
        });
        lane.add(logging("other"));
        for (int i = 0; i < 4; i++) {
            try {
                lane.doWork();
            } catch (IllegalStateException e) {
                log.add(e.getMessage());
            }
        }
        assertThat(log).contains("other", "always");
    }

    @Test
    void aTaskThatThrowsIsNotRunAgain() {
        lane.execute(() -> {
            throw new IllegalStateException("once");
        });
        lane.execute(() -> log.add("next"));
        assertThatThrownBy(lane::doWork).hasMessage("once");
        lane.doWork();
        assertThat(log).containsExactly("next");
    }

    @Test
    void wakesItsThreadForATask() throws Exception {
        lane.start("lane-test");
        vector.awaitWaiter();
        CompletableFuture<Boolean> own = new CompletableFuture<>();
        lane.execute(() -> own.complete(lane.isOwnThread()));
        assertThat(own.get(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(lane.isOwnThread()).isFalse();
    }

    @Test
    void wakesItsThreadToClose() throws Exception {
        lane.start("lane-test");
        vector.awaitWaiter();
        lane.close();
        assertThat(vector.threads).hasSize(1);
        assertThat(vector.threads.getFirst().isAlive()).isFalse();
        assertThat(vector.threads.getFirst().isDaemon()).isTrue();
        assertThat(vector.threads.getFirst().getName()).isEqualTo("lane-test");
    }

    @Test
    void waitsNoLongerThanTheNearestDeadline() throws Exception {
        AtomicLong deadline = new AtomicLong(Agent.NO_DEADLINE);
        CountDownLatch waited = new CountDownLatch(1);
        vector.onAwait = timeout -> {
            if (timeout <= TimeUnit.SECONDS.toNanos(5)) {
                waited.countDown();
            }
        };
        lane.add(now -> 0);
        lane.add(new Agent() {
            @Override
            public int doWork(long nowNanos) {
                deadline.compareAndSet(Agent.NO_DEADLINE, nowNanos + TimeUnit.SECONDS.toNanos(5));
                return 0;
            }

            @Override
            public long nextDeadlineNanos() {
                return deadline.get();
            }
        });
        lane.start("lane-test");
        assertThat(waited.await(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void doesNotWaitWhereTheIdleStrategySaysSo() throws Exception {
        VectorDouble spun = new VectorDouble();
        AtomicInteger turns = new AtomicInteger();
        CountDownLatch many = new CountDownLatch(1);
        spun.onProgress = () -> {
            if (turns.incrementAndGet() > 1000) {
                many.countDown();
            }
        };
        try (Lane spinning = new Lane(spun, new IdleStrategy(0, 0, 0))) {
            spinning.start("lane-spinning");
            assertThat(many.await(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
        }
        assertThat(spun.awaits.get()).isZero();
    }

    @Test
    void survivesWhatHandlersTasksAndAgentsThrow() throws Exception {
        try (QuietLog quiet = new QuietLog(Lane.class)) {
            lane.add(now -> {
                throw new IllegalStateException("agent");
            });
            vector.work = 1;
            lane.start("lane-test");
            CountDownLatch ran = new CountDownLatch(2);
            lane.execute(() -> {
                throw new AssertionError("task");
            });
            lane.execute(ran::countDown);
            lane.execute(ran::countDown);
            assertThat(ran.await(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
            lane.close();
            // In every cycle something was thrown; only one a second may be logged.
            assertThat(quiet.messages()).isNotEmpty().hasSizeLessThan(100);
            assertThat(quiet.messages().getFirst()).contains("lane-test");
        }
    }

    @Test
    void anInterruptDoesNotKeepItFromWaiting() throws Exception {
        lane.start("lane-test");
        vector.awaitWaiter();
        Thread thread = vector.threads.getFirst();
        CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
        thread.interrupt();
        vector.awaitWaiter();
        lane.execute(() -> interrupted.complete(Thread.currentThread().isInterrupted()));
        assertThat(interrupted.get(LIMIT_SECONDS, TimeUnit.SECONDS)).isFalse();
    }

    @Test
    void runsEveryTaskItTookBeforeItEnds() throws Exception {
        for (int round = 0; round < 50; round++) {
            Lane closing = new Lane(new VectorDouble(), SLEEPY);
            AtomicInteger ran = new AtomicInteger();
            AtomicInteger taken = new AtomicInteger();
            closing.start("lane-closing");
            CountDownLatch go = new CountDownLatch(3);
            List<Thread> callers = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                callers.add(Thread.ofPlatform().start(() -> {
                    go.countDown();
                    try {
                        while (true) {
                            closing.execute(ran::incrementAndGet);
                            taken.incrementAndGet();
                        }
                    } catch (RejectedExecutionException e) {
                        // closed: that is what this waits for
                    }
                }));
            }
            go.countDown();
            go.await();
            closing.close();
            for (Thread caller : callers) {
                caller.join();
            }
            assertThat(ran.get()).isEqualTo(taken.get());
        }
    }

    @Test
    void takesNoTaskOnceItIsClosed() {
        lane.execute(() -> log.add("before"));
        lane.close();
        assertThatThrownBy(() -> lane.execute(() -> log.add("after"))).isInstanceOf(RejectedExecutionException.class);
        assertThatThrownBy(() -> lane.start("too late")).isInstanceOf(IllegalStateException.class);
        lane.doWork();
        assertThat(log).containsExactly("before");
    }

    @Test
    void startsOnlyOnce() {
        lane.start("lane-test");
        assertThatThrownBy(() -> lane.start("again")).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void mayBeClosedFromWithin() throws Exception {
        lane.start("lane-test");
        CompletableFuture<Thread> own = new CompletableFuture<>();
        lane.execute(() -> {
            lane.close();
            own.complete(Thread.currentThread());
        });
        Thread thread = own.get(LIMIT_SECONDS, TimeUnit.SECONDS);
        thread.join(TimeUnit.SECONDS.toMillis(LIMIT_SECONDS));
        assertThat(thread.isAlive()).isFalse();
    }

    @Test
    void closingKeepsTheCallersInterrupt() {
        lane.start("lane-test");
        Thread.currentThread().interrupt();
        lane.close();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(vector.threads).noneMatch(Thread::isAlive);
    }

    /** A vector that waits on a semaphore. */
    private static final class VectorDouble implements CompletionVector {
        private interface OnAwait {
            void waiting(long timeoutNanos);
        }

        private final Semaphore wakeUps = new Semaphore(0);
        private final Semaphore waiting = new Semaphore(0);
        private final List<Thread> threads = new CopyOnWriteArrayList<>();
        private final AtomicInteger awaits = new AtomicInteger();
        private volatile Runnable onProgress = () -> {};
        private volatile OnAwait onAwait = timeout -> {};
        private volatile int work;

        void awaitWaiter() throws InterruptedException {
            assertThat(waiting.tryAcquire(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
        }

        @Override
        public int index() {
            return 0;
        }

        @Override
        public int progress() {
            if (!threads.contains(Thread.currentThread())) {
                threads.add(Thread.currentThread());
            }
            onProgress.run();
            return work;
        }

        @Override
        public void awaitWork(long timeoutNanos) {
            awaits.incrementAndGet();
            onAwait.waiting(timeoutNanos);
            waiting.release();
            try {
                if (wakeUps.tryAcquire(timeoutNanos, TimeUnit.NANOSECONDS)) {
                    wakeUps.drainPermits();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public void wakeUp() {
            wakeUps.release();
        }
    }
}

package org.nvmf4j.verbs.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.nvmf4j.verbs.WorkCompletionStatus.SUCCESS;
import static org.nvmf4j.verbs.WorkCompletionStatus.WORK_REQUEST_FLUSHED;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.nvmf4j.verbs.CompletionVector;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.WorkCompletion;
import org.nvmf4j.verbs.WorkOpcode;

class CompletionRingTest {
    private final List<CompletionRing> closed = new ArrayList<>();
    private final CompletionRing ring = new CompletionRing(new NoVector(), 4, closed::add);

    private boolean add(CompletionRing to, long id, int queuePairNumber) {
        return to.add(id, SUCCESS, WorkOpcode.SEND, 0, queuePairNumber, 0, 0, "context of " + queuePairNumber);
    }

    private List<Long> pollIds(CompletionRing from, int max) {
        List<Long> ids = new ArrayList<>();
        from.poll(max, c -> ids.add(c.id()));
        return ids;
    }

    @Test
    void handsOverEveryValueOfACompletion() {
        Object context = new Object();
        ring.add(-7, WORK_REQUEST_FLUSHED, WorkOpcode.RECEIVE, 4096, 0xabcdef, 0x1234, 99, context);
        List<WorkCompletion> seen = new ArrayList<>();
        int handed = ring.poll(10, c -> {
            seen.add(c);
            assertThat(c.id()).isEqualTo(-7);
            assertThat(c.status()).isEqualTo(WORK_REQUEST_FLUSHED);
            assertThat(c.opcode()).isEqualTo(WorkOpcode.RECEIVE);
            assertThat(c.lengthBytes()).isEqualTo(4096);
            assertThat(c.queuePairNumber()).isEqualTo(0xabcdef);
            assertThat(c.invalidatedRkey()).isEqualTo(0x1234);
            assertThat(c.vendorError()).isEqualTo(99);
            assertThat(c.context()).isSameAs(context);
        });
        assertThat(handed).isEqualTo(1);
        assertThat(seen).hasSize(1);
    }

    @Test
    void roundsItsCapacityUpToAPowerOfTwo() {
        assertThat(new CompletionRing(new NoVector(), 1, r -> {}).capacity()).isEqualTo(1);
        assertThat(new CompletionRing(new NoVector(), 5, r -> {}).capacity()).isEqualTo(8);
        assertThat(new CompletionRing(new NoVector(), 8, r -> {}).capacity()).isEqualTo(8);
        assertThatThrownBy(() -> new CompletionRing(new NoVector(), 0, r -> {}))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void handsOverInOrderAndNotMoreThanAsked() {
        for (int i = 0; i < 4; i++) {
            assertThat(add(ring, i, 1)).isTrue();
        }
        assertThat(pollIds(ring, 3)).containsExactly(0L, 1L, 2L);
        add(ring, 4, 1);
        assertThat(pollIds(ring, 10)).containsExactly(3L, 4L);
        assertThat(pollIds(ring, 10)).isEmpty();
    }

    @Test
    void leavesWhatAHandlerAddsToTheNextPoll() {
        add(ring, 1, 1);
        List<Long> ids = new ArrayList<>();
        int handed = ring.poll(Integer.MAX_VALUE, c -> {
            ids.add(c.id());
            add(ring, c.id() + 1, 1);
        });
        assertThat(handed).isEqualTo(1);
        assertThat(ids).containsExactly(1L);
        assertThat(pollIds(ring, 10)).containsExactly(2L);
    }

    @Test
    void dropsTheCompletionsOfADetachedQueuePairAndKeepsTheOthersInOrder() {
        QueuePairDouble one = new QueuePairDouble(1);
        QueuePairDouble two = new QueuePairDouble(2);
        ring.attach(one);
        ring.attach(two);
        add(ring, 10, 1);
        add(ring, 20, 2);
        add(ring, 11, 1);
        add(ring, 21, 2);
        ring.detach(one);
        assertThat(ring.size()).isEqualTo(2);
        assertThat(pollIds(ring, 10)).containsExactly(20L, 21L);
    }

    @Test
    void dropsThemAlsoInTheMidstOfAPoll() {
        QueuePairDouble one = new QueuePairDouble(1);
        ring.attach(one);
        add(ring, 10, 1);
        add(ring, 20, 2);
        add(ring, 11, 1);
        List<Long> ids = new ArrayList<>();
        int handed = ring.poll(10, c -> {
            ids.add(c.id());
            ring.detach(one);
        });
        assertThat(ids).containsExactly(10L, 20L);
        assertThat(handed).isEqualTo(2);
        assertThat(ring.size()).isZero();
    }

    @Test
    void refusesAPollFromItsOwnHandlerAndWorksOn() {
        add(ring, 1, 1);
        add(ring, 2, 1);
        assertThatThrownBy(() -> ring.poll(10, c -> ring.poll(1, d -> {}))).isInstanceOf(IllegalStateException.class);
        assertThat(pollIds(ring, 10)).containsExactly(2L);
    }

    @Test
    void anOverflowFailsEveryAttachedQueuePairOnceAndOnlyWhenAsked() {
        QueuePairDouble one = new QueuePairDouble(1);
        QueuePairDouble two = new QueuePairDouble(2);
        ring.attach(one);
        ring.attach(one);
        ring.attach(two);
        for (int i = 0; i < 4; i++) {
            add(ring, i, 1);
        }
        assertThat(ring.failQueuePairsIfOverflowed()).isFalse();
        assertThat(add(ring, 4, 1)).isFalse();
        assertThat(one.errors + two.errors).isZero();
        assertThat(ring.failQueuePairsIfOverflowed()).isTrue();
        assertThat(ring.failQueuePairsIfOverflowed()).isFalse();
        assertThat(one.errors).isEqualTo(1);
        assertThat(two.errors).isEqualTo(1);
        assertThat(ring.lostCompletions()).isEqualTo(1);
        assertThat(pollIds(ring, 10)).containsExactly(0L, 1L, 2L, 3L);
    }

    @Test
    void canBeClosedOnlyWithoutQueuePairs() {
        QueuePairDouble one = new QueuePairDouble(1);
        ring.attach(one);
        assertThatThrownBy(ring::close).isInstanceOf(IllegalStateException.class);
        ring.detach(one);
        ring.close();
        ring.close();
        assertThat(closed).containsExactly(ring);
        assertThat(add(ring, 1, 1)).isFalse();
        assertThat(pollIds(ring, 10)).isEmpty();
        assertThatThrownBy(() -> ring.attach(one)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void agreesWithASimpleModel() {
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        QueuePairDouble[] pairs = {new QueuePairDouble(0), new QueuePairDouble(1), new QueuePairDouble(2)};
        CompletionRing r = new CompletionRing(new NoVector(), 16, x -> {});
        Queue<Long> model = new ArrayDeque<>();
        for (long step = 0; step < 20_000; step++) {
            int pair = random.nextInt(3);
            switch (random.nextInt(8)) {
                case 0 -> {
                    r.attach(pairs[pair]);
                    r.detach(pairs[pair]);
                    model.removeIf(id -> id % 3 == pair);
                }
                case 1, 2 -> {
                    List<Long> expected = new ArrayList<>();
                    int max = random.nextInt(6);
                    while (expected.size() < max && !model.isEmpty()) {
                        expected.add(model.remove());
                    }
                    assertThat(pollIds(r, max))
                            .as("seed %d step %d", seed, step)
                            .isEqualTo(expected);
                }
                default -> {
                    long id = step * 3 + pair;
                    boolean room = model.size() < 16;
                    assertThat(add(r, id, pair))
                            .as("seed %d step %d", seed, step)
                            .isEqualTo(room);
                    if (room) {
                        model.add(id);
                    }
                }
            }
        }
    }

    private static final class NoVector implements CompletionVector {
        @Override
        public int index() {
            return 0;
        }

        @Override
        public int progress() {
            return 0;
        }

        @Override
        public void awaitWork(long timeoutNanos) {}

        @Override
        public void wakeUp() {}
    }

    private static final class QueuePairDouble implements ProviderQueuePair {
        private final int number;
        private int errors;

        QueuePairDouble(int number) {
            this.number = number;
        }

        @Override
        public int number() {
            return number;
        }

        @Override
        public QueuePairState state() {
            return errors == 0 ? QueuePairState.READY_TO_SEND : QueuePairState.ERROR;
        }

        @Override
        public int inlineBytes() {
            return 0;
        }

        @Override
        public SendWorkRequest postSend(SendWorkRequest first) {
            throw new AssertionError("not used here");
        }

        @Override
        public void postReceive(ReceiveWorkRequest first) {
            throw new AssertionError("not used here");
        }

        @Override
        public void toError() {
            errors++;
        }

        @Override
        public void close() {}
    }
}
